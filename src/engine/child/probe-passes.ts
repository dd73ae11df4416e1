import { TOKEN_STATISTICS } from '../../numerics/token-statistics.js';
import type { Adversary, FromDecode, FromScore } from '../engine-messages.js';
import { DecodeWorker, type DecodeWorkerOptions } from './decode-worker.js';
import { ScoreWorker, type ScoreWorkerOptions } from './score-worker.js';

/** A device may open every session and still compute nothing of use. These run each session once. */

/** @throws Error when the run fails or its numbers are not finite */
export async function probeDecode(options: Omit<DecodeWorkerOptions, 'send'>): Promise<void> {
  const answer = await new Promise<FromDecode>((resolve) => {
    const send = (message: FromDecode) => message.type !== 'begun' && resolve(message);
    new DecodeWorker({ ...options, send }).generate({
      type: 'generate',
      stream: 0,
      promptIds: [0, 1],
      sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
      maxTokens: 1,
      endIds: [],
      topLogprobs: 0,
      credit: 1,
    });
  });
  const finite = answer.type === 'token' && Number.isFinite(answer.logprob);
  if (!finite) throw new Error(`the probe run failed: ${describe(answer)}`);
}

/** @throws Error when a run fails or its numbers are not finite */
export async function probeScore(
  options: Omit<ScoreWorkerOptions, 'send'>,
  form: Adversary['form'] = 'derivative',
): Promise<void> {
  for (const adversary of [{ alpha: 1e-4, form }, null]) {
    const answer = await new Promise<FromScore>((send) => {
      const pass = { newIds: [0, 1], start: 0, from: 1, to: 2, adversary } as const;
      new ScoreWorker({ ...options, send }).pass({ type: 'pass', stream: 0, ...pass });
    });
    const tokens = answer.type === 'scored' ? answer.tokens : [];
    const finite = tokens.every(({ probability, adversary }) =>
      ['logprob' as const, ...TOKEN_STATISTICS]
        .map((name) => probability![name])
        .concat(adversary?.fall ?? 0)
        .every(Number.isFinite),
    );
    if (tokens.length === 0 || !finite) throw new Error(`the probe run failed: ${describe(answer)}`);
  }
}

const describe = (answer: FromDecode | FromScore): string =>
  answer.type === 'failed' ? answer.message : JSON.stringify(answer);
