import type { FinishReason, GenerationEvent, Method, Rival, Scores } from './protocol.js';

/** One token of an answer. `scores` is null until its score.delta arrives, and stays null if it never does. */
export interface Token {
  readonly index: number;
  readonly id: number;
  readonly text: string;
  readonly logprob: number;
  readonly scores: Scores | null;
  readonly skipped: readonly Method[];
  readonly rival: Rival | null;
  /** Of a step that the guard flagged. */
  readonly flagged: boolean;
}

/** What is known of one answer. `waiting`: asked for, no token yet. `done` and `failed` are final. */
export interface Answer {
  readonly phase: 'waiting' | 'streaming' | 'done' | 'failed';
  readonly responseId: string | null;
  readonly model: string;
  readonly tokens: readonly Token[];
  readonly finishReason: FinishReason | null;
  /** Why it failed, in words. */
  readonly failure: string | null;
  readonly nextOffset: number;
  readonly firstTokenMs: number | null;
  readonly lastTokenMs: number | null;
}

/** The answer cannot go on: an error event, a lost connection, a message that makes no sense. */
export interface AnswerFailed {
  readonly type: 'answer.failed';
  readonly reason: string;
}

export const newAnswer = (model: string): Answer => ({
  phase: 'waiting',
  responseId: null,
  model,
  tokens: [],
  finishReason: null,
  failure: null,
  nextOffset: 0,
  firstTokenMs: null,
  lastTokenMs: null,
});

export const isOver = (answer: Answer): boolean => answer.phase === 'done' || answer.phase === 'failed';

const fail = (answer: Answer, failure: string): Answer => ({ ...answer, phase: 'failed', failure });

/**
 * The answer after one event; `nowMs` is when it arrived. A gap in the offsets or an index out of order fails
 * the answer: a token that was lost on the way must not pass for one that was never doubtful.
 */
export function reduce(answer: Answer, event: GenerationEvent | AnswerFailed, nowMs: number): Answer {
  if (isOver(answer)) return answer;
  if (event.type === 'answer.failed') return fail(answer, event.reason);
  if (event.offset !== answer.nextOffset) {
    return fail(answer, `Part of the answer was lost: event ${answer.nextOffset} never came.`);
  }
  const next = { ...answer, nextOffset: event.offset + 1 };

  switch (event.type) {
    case 'generation.created':
      return { ...next, responseId: event.response_id, model: event.model || answer.model };
    case 'token.delta': {
      if (event.index !== answer.tokens.length) {
        return fail(answer, `Part of the answer was lost: token ${answer.tokens.length} never came.`);
      }
      const { index, id, text, logprob } = event;
      return {
        ...next,
        phase: 'streaming',
        tokens: [
          ...answer.tokens,
          { index, id, text, logprob, scores: null, skipped: [], rival: null, flagged: false },
        ],
        firstTokenMs: answer.firstTokenMs ?? nowMs,
        lastTokenMs: nowMs,
      };
    }
    case 'score.delta': {
      // The score of the finished response has another scale (DESIGN.md section 4) and colours nothing here.
      if (event.pass !== 'stream') return next;
      const token = answer.tokens[event.index];
      if (!token) return fail(answer, `A score came for token ${event.index}, which was never written.`);
      const { scores, skipped, rival } = event;
      const scored = { ...token, scores, skipped, rival };
      return { ...next, tokens: answer.tokens.with(event.index, scored) };
    }
    case 'step.done': {
      if (!event.flagged) return next;
      const inStep = ({ index }: Token): boolean => index >= event.from && index < event.to;
      const mark = (token: Token): Token => (inStep(token) ? { ...token, flagged: true } : token);
      return { ...next, tokens: answer.tokens.map(mark) };
    }
    case 'token.retracted':
      return { ...next, tokens: answer.tokens.slice(0, event.from) };
    case 'unknown':
      return next;
    case 'generation.done':
      return { ...next, phase: 'done', finishReason: event.finish_reason };
  }
}

export const answerText = (answer: Answer): string => answer.tokens.map((token) => token.text).join('');

export const scoreOf = (token: Token, method: Method): number | null => token.scores?.[method] ?? null;

/** `skipped`: the schedule left the score out, as the model was sure. `missing`: it has not come, or never will. */
export const scoreState = (token: Token, method: Method): 'scored' | 'skipped' | 'missing' =>
  scoreOf(token, method) !== null ? 'scored' : token.skipped.includes(method) ? 'skipped' : 'missing';

/** Tokens whose score is missing: the lag while the answer is written, missing for good once it is over. */
export const unscoredTokens = (answer: Answer, method: Method): number =>
  countTokensIn(answer, method, 'missing');

export const skippedTokens = (answer: Answer, method: Method): number =>
  countTokensIn(answer, method, 'skipped');

const countTokensIn = ({ tokens }: Answer, method: Method, state: ReturnType<typeof scoreState>): number =>
  tokens.reduce((count, token) => count + (scoreState(token, method) === state ? 1 : 0), 0);

/** The token with the highest score so far. */
export function strongest(answer: Answer, method: Method): { token: Token; score: number } | null {
  let best: { token: Token; score: number } | null = null;
  for (const token of answer.tokens) {
    const score = scoreOf(token, method);
    if (score !== null && (best === null || score > best.score)) best = { token, score };
  }
  return best;
}

/** Tokens per second between the first and the last token; null until there are two at different times. */
export function tokensPerSecond({ tokens, firstTokenMs, lastTokenMs }: Answer): number | null {
  if (firstTokenMs === null || lastTokenMs === null || lastTokenMs <= firstTokenMs) return null;
  return ((tokens.length - 1) * 1000) / (lastTokenMs - firstTokenMs);
}
