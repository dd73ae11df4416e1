import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { ScoreWorker, type ScoreWorkerOptions } from '#src/engine/child/score-worker.js';
import { Engine } from '#src/engine/engine.js';
import type { FromScore, PassToken, ToScore } from '#src/engine/protocol.js';
import { openServers } from '#src/engine/server/open-servers.js';
import { type RecordedScores, readRecordedScores } from '#src/engine/server/score-servers.js';
import { writeTritonRepository } from '#src/engine/triton/write-repository.js';
import { scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import {
  CHECKPOINTS,
  type CheckpointName,
  checkpointFolder,
  goldenCases,
  scoreErrors,
} from '../../support/golden.js';
import { type Answer, InferenceServerDouble, type RunAnswer } from '../../support/inference-server-double.js';

let folder: string;
const checkpoints = new Map<CheckpointName, Checkpoint>();
const doubles = new Map<CheckpointName, InferenceServerDouble>();
const urls = new Map<CheckpointName, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flinch-servers-'));
  for (const name of CHECKPOINTS) {
    await cp(checkpointFolder(name), join(folder, name), { recursive: true });
    const checkpoint = await openCheckpoint(join(folder, name));
    const output = join(folder, `${name}-repository`);
    const { weights } = await writeTritonRepository(checkpoint, { output, name, threads: 1 });
    expect(weights).toBe('linked');
    const double = new InferenceServerDouble(output);
    checkpoints.set(name, checkpoint);
    doubles.set(name, double);
    urls.set(name, await double.listen());
  }
});
afterAll(async () => {
  for (const double of doubles.values()) await double.close();
  await rm(folder, { recursive: true });
});

const llama = () => doubles.get('tiny-llama')!;
interface Opening {
  readonly urls?: readonly string[];
  readonly model?: string;
  readonly recorded?: RecordedScores;
  readonly requestMs?: number;
}

async function openRemote(name: CheckpointName, opening: Opening = {}) {
  const checkpoint = checkpoints.get(name)!;
  const recorded = await readRecordedScores(checkpoint);
  const lost: string[] = [];
  const servers = { urls: [urls.get(name)!], model: name, recorded, requestMs: 30_000, ...opening };
  return { ...(await openServers(checkpoint, servers, (reason) => lost.push(reason))), lost };
}

/** A worker, asked one thing at a time. */
function ask(options: Omit<ScoreWorkerOptions, 'send' | 'contextLength'>) {
  let answered: (answer: FromScore) => void = () => {};
  const worker = new ScoreWorker({ ...options, contextLength: 512, send: (message) => answered(message) });
  return (message: Extract<ToScore, { type: 'pass' | 'read' | 'fork' }>): Promise<FromScore> =>
    new Promise((resolve) => {
      answered = resolve;
      if (message.type === 'pass') worker.pass(message);
      else if (message.type === 'read') worker.read(message);
      else worker.fork(message);
    });
}

const ids = (count: number, step = 37) => Array.from({ length: count }, (_, i) => (i * step + 5) % 500);
const adversary = { alpha: 1e-3, form: 'perturb' } as const;

/** A prompt, passes, a rollback as a fork with other tokens, and a plain pass. */
const MESSAGES = [
  { type: 'read', stream: 1, newIds: ids(40), end: 32 },
  { type: 'pass', stream: 1, newIds: ids(8, 11), start: 32, from: 40, to: 48, adversary },
  { type: 'pass', stream: 1, newIds: ids(8, 13), start: 40, from: 48, to: 56, adversary },
  { type: 'fork', stream: 2, of: 1, length: 48 },
  { type: 'pass', stream: 2, newIds: ids(8, 17), start: 34, from: 48, to: 56, adversary },
  { type: 'pass', stream: 1, newIds: ids(2, 3), start: 55, from: 56, to: 58, adversary: null },
  { type: 'pass', stream: 3, newIds: ids(9), start: 0, from: 1, to: 9, adversary },
] as const satisfies ToScore[];

const numbersOf = ({ logprob, entropy, margin, top, adversary }: PassToken): number[] => [
  ...[logprob, entropy, margin, ...top.map(({ logprob }) => logprob)],
  ...(adversary ? [adversary.fall, adversary.rival.before, adversary.rival.after] : []),
];

describe('on an inference server', () => {
  // With next to no threads no window fits into one run.
  it.each([...CHECKPOINTS.map((name) => [name, 1] as const), ['tiny-mistral', 1e-9] as const])(
    '%s scores as the engine does, after a rollback, too (%d threads)',
    async (name, threads) => {
      const source = checkpoints.get(name)!;
      const { sessions } = await openRemote(name);
      const remote = ask({ sessions, source, threads });
      const local = ask({ sessions: new Sessions(source, { threads: 1 }), source, threads });
      let compared = 0;
      for (const message of MESSAGES) {
        const [actual, expected] = [await remote(message), await local(message)];
        expect(actual.type).toBe(expected.type);
        if (actual.type !== 'scored' || expected.type !== 'scored') continue;
        expect(actual.tokens).toHaveLength(expected.tokens.length);
        for (const [i, token] of expected.tokens.entries()) {
          const [a, b] = [numbersOf(actual.tokens[i]!), numbersOf(token)];
          for (const [k, value] of b.entries()) expect(Math.abs(a[k]! - value)).toBeLessThan(5e-5);
          expect(actual.tokens[i]!.adversary?.rival.id).toBe(token.adversary?.rival.id);
          compared += b.length;
        }
      }
      expect(compared).toBeGreaterThan(300);
    },
  );
});

describe('an engine that scores on inference servers', () => {
  it('agrees with float64 PyTorch', async () => {
    const scoreServers = { urls: [urls.get('tiny-llama')!], model: 'tiny-llama' };
    const engine = await Engine.open(join(folder, 'tiny-llama'), { scoreServers });
    try {
      const [golden] = goldenCases('tiny-llama');
      const { promptIds, responseIds, alpha, adv, logprob } = golden!;
      const scoring = { methods: ['adversarial', 'nll'], alpha, schedule: { kind: 'offline' } } as const;
      const { tokens } = await scoreResponse(engine, promptIds, responseIds, scoring);
      const { all } = scoreErrors(
        tokens.map(({ scores }) => scores.adversarial!),
        adv,
      );
      expect(all).toBeLessThan(2e-3);
      expect(
        scoreErrors(
          tokens.map(({ logprob }) => logprob),
          logprob,
        ).all,
      ).toBeLessThan(1e-4);
      expect(engine.status().score.device).toBe('inference-server');
    } finally {
      await engine.close();
    }
  });

  it('refuses a checkpoint that was not exported', async () => {
    const scoreServers = { urls: ['http://127.0.0.1:1'], model: 'm' };
    await expect(Engine.open(checkpointFolder('tiny-llama'), { scoreServers })).rejects.toThrow(
      'server-scores.json: is missing; `flinch export triton` writes it',
    );
  });
});

const reset: Answer = (_, response) => response.destroy();
const answer =
  (status: number, header: unknown, body: string, headers: Record<string, string | number> = {}): Answer =>
  (_, response) => {
    const json = JSON.stringify(header);
    response.writeHead(status, { 'inference-header-content-length': json.length, ...headers });
    response.end(json + body);
  };

describe('a server that is not as it should be', () => {
  const pass = MESSAGES.at(-1)!;
  let remote: ReturnType<typeof ask>;
  beforeAll(async () => {
    const { sessions } = await openRemote('tiny-llama', { requestMs: 1500 });
    remote = ask({ sessions, source: checkpoints.get('tiny-llama')!, threads: 1 });
  });
  let stream = 100;
  const scored = () => remote({ ...pass, stream: ++stream });
  const failed = (problem: string) => ({ type: 'failed', stream, message: `ServerFault: ${problem}` });
  // Two faults are not enough to do without the server.
  afterEach(async () => {
    llama().change = (answer) => answer;
    llama().ready = true;
    expect((await scored()).type).toBe('scored');
  });

  it('is asked once more after a fault', async () => {
    llama().instead.push(reset);
    expect((await scored()).type).toBe('scored');
  });

  const changed = (name: string, change: (answer: RunAnswer, i: number) => void) => (answer: RunAnswer) => {
    change(
      answer,
      answer.header.outputs.findIndex((output) => output.name === name),
    );
    return answer;
  };
  const HOSTILE: Readonly<Record<string, [(answer: RunAnswer) => RunAnswer, string]>> = {
    'numbers that are not finite': [
      changed('logprob', ({ tensors }, i) => tensors[i]!.writeFloatLE(Number.NaN, 4)),
      'logprob has numbers that are not finite',
    ],
    'keys that are not finite': [
      changed('window_key.0.1', ({ tensors }, i) => tensors[i]!.writeFloatLE(Number.POSITIVE_INFINITY, 0)),
      'window_key.0.1 has numbers that are not finite',
    ],
    'another shape of the same size': [
      changed('top_ids', ({ header }, i) => header.outputs[i]!.shape.reverse()),
      'top_ids has shape [5,8] instead of [8,5]',
    ],
    'fewer tokens': [
      changed('entropy', ({ header, tensors }, i) => {
        Object.assign(header.outputs[i]!, { shape: [7], parameters: { binary_data_size: 28 } });
        tensors[i] = tensors[i]!.subarray(4);
      }),
      'entropy has shape [7] instead of [8]',
    ],
    'another type': [
      changed('margin', ({ header }, i) => Object.assign(header.outputs[i]!, { datatype: 'INT64' })),
      'margin is of type INT64',
    ],
    'an id outside the vocabulary': [
      changed('rival', ({ tensors }, i) => tensors[i]!.writeBigInt64LE(1_000_000n, 0)),
      'rival has an id outside the vocabulary',
    ],
    'a tensor that is missing': [
      changed('logprob', ({ header, tensors }, i) => {
        header.outputs.splice(i, 1);
        tensors.splice(i, 1);
      }),
      'logprob is missing',
    ],
    'a short body': [
      (answer) => ({ ...answer, tensors: answer.tensors.slice(0, -1) }),
      'the answer is too short',
    ],
    'a long body': [
      (answer) => ({ ...answer, tensors: [...answer.tensors, Buffer.alloc(3)] }),
      'the answer has 3 bytes too many',
    ],
    'another model': [
      ({ header, tensors }) => ({ header: { ...header, model_name: 'other' }, tensors }),
      'the answer is of another model than tiny-llama_score',
    ],
  };
  it.each(Object.entries(HOSTILE))('fails the pass: %s', async (_name, [change, problem]) => {
    llama().change = change;
    expect(await scored()).toEqual(failed(problem));
  });

  const ODD: Readonly<Record<string, [Answer, string]>> = {
    'a connection that breaks': [reset, 'the connection failed (ECONNRESET)'],
    'a status': [answer(500, { error: 'secret' }, ''), 'v2/models/tiny-llama_score/infer: status 500'],
    'JSON without tensors': [
      (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"outputs":[]}'),
      'the answer has no tensors in binary form',
    ],
    'no JSON': [answer(200, {}, '', { 'inference-header-content-length': 1 }), 'the answer is not JSON'],
    'a header beyond the body': [
      answer(200, {}, '', { 'inference-header-content-length': 99 }),
      'the answer has no tensors in binary form',
    ],
    'a body that is cut off': [
      (_, response) => {
        response.writeHead(200, { 'content-length': 1000 }).write('{', () => response.destroy());
      },
      'the connection failed (ECONNRESET)',
    ],
    'no answer': [() => {}, 'no answer within 1.5 s'],
  };
  it.each(Object.entries(ODD))('fails the pass: %s', async (_name, [instead, problem]) => {
    llama().instead.push(instead, instead);
    expect(await scored()).toEqual(failed(problem));
  });

  it.each<[string, () => Promise<Opening>, string]>([
    ['is not there', async () => ({ urls: ['http://127.0.0.1:1'] }), 'the connection failed (ECONNREFUSED)'],
    ['has no such model', async () => ({ model: 'other' }), 'v2/models/other_score/ready: status 400'],
    [
      'has a model of another architecture',
      async () => ({ urls: [urls.get('tiny-mistral')!], model: 'tiny-mistral' }),
      'tiny-mistral_score is another model: inputs:',
    ],
    [
      'has other weights',
      async () => {
        const recorded = await readRecordedScores(checkpoints.get('tiny-llama')!);
        const scores = recorded.scores.map((score, i) =>
          i === 20 ? { ...score, entropy: score.entropy + 0.01 } : score,
        );
        return { recorded: { ...recorded, scores } };
      },
      'its scores are not those of the export: entropy',
    ],
    [
      'is not ready',
      async () => {
        llama().ready = false;
        return {};
      },
      'v2/models/tiny-llama_score/ready: status 503',
    ],
  ])('is refused at the start if it %s', async (_name, opening, problem) => {
    await expect(openRemote('tiny-llama', await opening())).rejects.toThrow(
      `inference server 1 of 1: ${problem}`,
    );
  });

  it('is replaced by another address', async () => {
    const opened = await openRemote('tiny-llama', { urls: ['http://127.0.0.1:1', urls.get('tiny-llama')!] });
    expect(opened.lost).toEqual(['inference server 1 of 2: the connection failed (ECONNREFUSED)']);
    const own = ask({ sessions: opened.sessions, source: checkpoints.get('tiny-llama')!, threads: 1 });
    expect((await own(pass)).type).toBe('scored');
  });
});
