import { FlinchError } from './client-errors.js';
import type {
  EventOf,
  FinishReason,
  GenerationEvent,
  Method,
  Part,
  Rival,
  Scores,
  Usage,
  Verdict,
} from './protocol-events.js';

type TopLogprob = NonNullable<EventOf<'token.delta'>['top_logprobs']>[number];

export interface Token {
  readonly index: number;
  readonly id: number | null;
  /** Empty for tokens of another part. */
  readonly text: string;
  /** Absent for the text. */
  readonly part?: Part;
  /** Present with `part`: the text that the model wrote, with marks such as `<think>`. */
  readonly partText?: string;
  /** Number of the tool call, as the upstream counts them. */
  readonly call?: number;
  readonly logprob: number | null;
  readonly topLogprobs: readonly TopLogprob[];
  /** `null` until they come, and for good if they never do. */
  readonly scores: Scores | null;
  /** Risks by method, for methods that can be rated. */
  readonly risk: Scores;
  readonly skipped: readonly Method[];
  /** Methods whose scores are to follow. */
  readonly pending: readonly Method[];
  /** Why methods were skipped: scoring was behind. */
  readonly reason?: 'lag';
  readonly rival: Rival | null;
}

/** A step as it stands: nothing of it is taken back any more. */
export type Step = Omit<EventOf<'step.done'>, 'type' | 'response_id' | 'offset'>;

/** A step that was flagged: as it was then, which may have been replaced. */
export type Flag = Omit<EventOf<'step.flagged'>, 'type' | 'response_id' | 'offset'>;

/** Text that was struck out, and the candidates for its place. */
export interface Rollback {
  readonly rollback: number;
  readonly step: number;
  /** Index of the first token that was drawn anew. */
  readonly from: number;
  /** Index after the last token of the replacement; `from` if there is none. */
  readonly to: number;
  /** How many continuations were, or are, drawn beside the flagged one. */
  readonly drawn: number;
  /** Text of the step's tokens from `from` on, as they were. */
  readonly struck: string;
  /** `null` while they are drawn. */
  readonly outcome: 'replaced' | 'kept' | null;
  readonly chosen: number | null;
  /** The first is the flagged step. */
  readonly candidates: EventOf<'rollback.done'>['candidates'];
}

/**
 * All that is known of one answer. `waiting`: asked for, no token yet. `scoring`: the text is complete and judged, and scores
 * follow. `done` and `failed` are final.
 */
export interface Answer {
  readonly phase: 'waiting' | 'streaming' | 'scoring' | 'done' | 'failed';
  readonly responseId: string | null;
  /** `null` until the server has said. */
  readonly model: string | null;
  /** The settings in force. */
  readonly guard: EventOf<'generation.created'>['guard'] | null;
  readonly tokens: readonly Token[];
  /** Settled steps, in order. */
  readonly steps: readonly Step[];
  readonly flags: readonly Flag[];
  readonly rollbacks: readonly Rollback[];
  /** The scorer is likely another model than the one that writes. */
  readonly mismatch: Omit<EventOf<'scorer.mismatch'>, 'type' | 'response_id' | 'offset'> | null;
  /** Whether another model was asked in place of the one that wrote, and answers; `null` if none was. */
  readonly escalation: Omit<
    EventOf<'generation.escalated'>,
    'type' | 'response_id' | 'offset' | 'guard'
  > | null;
  /** How further answers have voted on a flagged one; `null` if they have not. */
  readonly vote: Omit<EventOf<'generation.voted'>, 'type' | 'response_id' | 'offset'> | null;
  readonly finishReason: FinishReason | null;
  readonly usage: Usage | null;
  /** Verdict on the whole answer, once its text is complete; `null` without a guard. */
  readonly verdict: Verdict | null;
  /** Why it failed. */
  readonly error: FlinchError | null;
}

/** Of an answer before its first token. */
const NOTHING_YET = {
  tokens: [],
  steps: [],
  flags: [],
  rollbacks: [],
  mismatch: null,
} as const;

export const EMPTY_ANSWER: Answer = {
  phase: 'waiting',
  responseId: null,
  model: null,
  guard: null,
  ...NOTHING_YET,
  escalation: null,
  vote: null,
  finishReason: null,
  usage: null,
  verdict: null,
  error: null,
};

export const answerText = ({ tokens }: Pick<Answer, 'tokens'>): string =>
  tokens.map(({ text }) => text).join('');

export const isOver = ({ phase }: Pick<Answer, 'phase'>): boolean => phase === 'done' || phase === 'failed';

/** Whether no text follows; scores may. */
export const isWritten = (answer: Pick<Answer, 'phase'>): boolean =>
  answer.phase === 'scoring' || isOver(answer);

/** The answer as it stands when it cannot go on: tokens without scores stay unscored. */
export const failAnswer = (answer: Answer, error: FlinchError): Answer =>
  isOver(answer) ? answer : { ...answer, phase: 'failed', error };

/**
 * The answer after one more event; the one before it stays as it was.
 * @throws FlinchError `protocol_error` for an event that does not fit the events before it
 */
export function foldAnswer(answer: Answer, event: GenerationEvent): Answer {
  const { response_id: _, offset: __, ...own } = event;
  switch (own.type) {
    case 'generation.created':
      return { ...answer, responseId: event.response_id, model: own.model, guard: own.guard };
    case 'token.delta':
      return { ...answer, phase: 'streaming', tokens: append(answer, own) };
    case 'score.delta': {
      const token = tokenAt(answer, own.index);
      // Scores of the finished text are on another scale than those of the stream.
      if (own.pass !== 'stream') return answer;
      const { scores, risk = {}, skipped = [], pending = [], reason, rival = null } = own;
      const scored = { ...token, scores, risk, skipped, pending, rival };
      return replace(answer, reason ? { ...scored, reason } : scored);
    }
    case 'step.done': {
      const { type, ...step } = own;
      return { ...answer, steps: [...answer.steps, step] };
    }
    case 'step.flagged': {
      const { type, ...flag } = own;
      return { ...answer, flags: [...answer.flags, flag] };
    }
    case 'token.retracted':
      return { ...answer, tokens: answer.tokens.slice(0, own.from) };
    case 'rollback.started':
      return { ...answer, rollbacks: [...answer.rollbacks, rollbackStarted(answer, own)] };
    case 'rollback.done':
      return { ...answer, rollbacks: answer.rollbacks.map((each) => settled(each, own, answer)) };
    case 'scorer.mismatch': {
      const { type, ...mismatch } = own;
      return { ...answer, mismatch };
    }
    case 'upstream.delta':
      return answer;
    case 'generation.escalated': {
      const { type, guard, ...escalation } = own;
      if (escalation.failed !== null) return { ...answer, escalation };
      return { ...answer, ...NOTHING_YET, guard: guard ?? answer.guard, escalation };
    }
    case 'generation.voted': {
      const { type, ...vote } = own;
      return { ...answer, ...(vote.replaced && NOTHING_YET), vote };
    }
    case 'text.done':
    case 'generation.done': {
      const phase = own.type === 'text.done' ? 'scoring' : 'done';
      // One that is cancelled when its text is complete keeps its verdict.
      if (answer.phase === 'scoring') return { ...answer, phase };
      const { finish_reason: finishReason, usage, verdict = null } = own;
      return { ...answer, phase, finishReason, usage, verdict };
    }
  }
}

type Own<Type extends GenerationEvent['type']> = Omit<EventOf<Type>, 'response_id' | 'offset'>;

function append({ tokens }: Answer, event: Own<'token.delta'>): readonly Token[] {
  const { index, id, text, logprob, top_logprobs: topLogprobs = [] } = event;
  const { part, part_text: partText = '', call } = event;
  const of = part && { part, partText, ...(call !== undefined && { call }) };
  if (index !== tokens.length) throw misfit(`received token ${index} instead of token ${tokens.length}`);
  const unscored = { scores: null, risk: {}, skipped: [], pending: [], rival: null };
  return [...tokens, { index, id, text, ...of, logprob, topLogprobs, ...unscored }];
}

function tokenAt({ tokens }: Answer, index: number): Token {
  const token = tokens[index];
  if (!token) throw misfit(`received a score for token ${index}, which does not exist`);
  return token;
}

const replace = (answer: Answer, token: Token): Answer => ({
  ...answer,
  tokens: answer.tokens.with(token.index, token),
});

/** A rollback that has begun: the text to be struck out is still there, unless the step is held. */
function rollbackStarted(
  answer: Answer,
  { type, candidates: drawn, ...place }: Own<'rollback.started'>,
): Rollback {
  const to = answer.flags.findLast(({ step }) => step === place.step)?.to ?? answer.tokens.length;
  const struck = answerText({ tokens: answer.tokens.slice(place.from, to) });
  return { ...place, to: place.from, drawn, struck, outcome: null, chosen: null, candidates: [] };
}

function settled(rollback: Rollback, done: Own<'rollback.done'>, answer: Answer): Rollback {
  if (rollback.rollback !== done.rollback) return rollback;
  const { outcome, chosen, candidates } = done;
  const to = outcome === 'replaced' ? answer.tokens.length : rollback.from;
  return {
    ...rollback,
    to,
    outcome,
    chosen,
    candidates,
    // The text of a held step was never there.
    struck: rollback.struck || (candidates[0]?.text ?? ''),
  };
}

const misfit = (message: string): FlinchError => new FlinchError('protocol_error', message);
