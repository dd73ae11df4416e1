/**
 * The part of `flinch.v1` (gateway/PROTOCOL.md) that the page speaks: the events it reads, with their names
 * on the wire, and a light check of each message before anything believes its type.
 */

export const SUBPROTOCOL = 'flinch.v1';

export const METHODS = ['adversarial', 'nll', 'entropy', 'margin'] as const;
export type Method = (typeof METHODS)[number];
export type Scores = Readonly<Partial<Record<Method, number>>>;

const FINISH_REASONS = ['stop', 'length', 'content_filter', 'cancelled'] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/** The other token whose probability grew most under the perturbation. */
export interface Rival {
  readonly id: number;
  readonly text: string;
  readonly before: number;
  readonly after: number;
}

interface OfGeneration {
  readonly response_id: string;
  readonly offset: number;
}

export interface GenerationCreated extends OfGeneration {
  readonly type: 'generation.created';
  readonly request_id: string | null;
  readonly model: string;
}

export interface TokenDelta extends OfGeneration {
  readonly type: 'token.delta';
  readonly index: number;
  readonly id: number;
  readonly text: string;
  readonly logprob: number;
}

export interface ScoreDelta extends OfGeneration {
  readonly type: 'score.delta';
  readonly index: number;
  readonly pass: string;
  readonly scores: Scores;
  /** Methods that the schedule left out, as the model was sure of this token: not a score of zero. */
  readonly skipped: readonly Method[];
  readonly rival: Rival | null;
}

/** The verdict on tokens `from` to `to − 1`. */
export interface StepDone extends OfGeneration {
  readonly type: 'step.done';
  readonly from: number;
  readonly to: number;
  readonly flagged: boolean;
}

/** Tokens from `from` on are void; what follows counts from there again. */
export interface TokenRetracted extends OfGeneration {
  readonly type: 'token.retracted';
  readonly from: number;
}

export interface GenerationDone extends OfGeneration {
  readonly type: 'generation.done';
  readonly finish_reason: FinishReason;
}

/** An event that this page does not know, which still takes its place in the order. */
export interface UnknownEvent extends OfGeneration {
  readonly type: 'unknown';
}

export interface ErrorEvent {
  readonly type: 'error';
  readonly response_id: string | null;
  readonly request_id: string | null;
  readonly message: string;
  readonly code: string | null;
}

export type GenerationEvent =
  | GenerationCreated
  | TokenDelta
  | ScoreDelta
  | StepDone
  | TokenRetracted
  | GenerationDone
  | UnknownEvent;
export type ServerEvent = GenerationEvent | ErrorEvent;

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

export interface GenerationCreate {
  readonly type: 'generation.create';
  readonly request_id: string;
  readonly model: string;
  readonly messages: readonly Message[];
  readonly temperature?: number;
}

export interface GenerationCancel {
  readonly type: 'generation.cancel';
  readonly response_id: string;
}

export type ClientMessage = GenerationCreate | GenerationCancel;

/** A message that is not what the protocol says; `evidence` is its beginning. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly evidence: string;

  constructor(message: string, evidence: string) {
    super(message);
    this.evidence = evidence.slice(0, 200);
  }
}

type Fields = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads one text frame. An event type that this page does not know is `unknown`, or `null` where it is of no
 * generation: a newer server may say more.
 * @throws ProtocolError for anything else that is not as the protocol has it
 */
export function parseEvent(frame: string): ServerEvent | null {
  const refuse = (what: string): never => {
    throw new ProtocolError(`the server sent ${what}`, frame);
  };
  let message: unknown;
  try {
    message = JSON.parse(frame);
  } catch {
    return refuse('something that is not JSON');
  }
  if (!isRecord(message)) return refuse('something that is not a JSON object');
  const type = message.type;

  const text = (from: Fields, field: string): string => {
    const value = from[field];
    return typeof value === 'string' ? value : refuse(`${type} without a text in "${field}"`);
  };
  const textOrNull = (from: Fields, field: string): string | null => {
    const value = from[field];
    return typeof value === 'string' ? value : null;
  };
  const number = (from: Fields, field: string): number => {
    const value = from[field];
    return typeof value === 'number' ? value : refuse(`${type} without a number in "${field}"`);
  };
  const record = (field: string): Fields => {
    const value = message[field];
    return isRecord(value) ? value : refuse(`${type} without an object in "${field}"`);
  };
  const place = () => ({ response_id: text(message, 'response_id'), offset: number(message, 'offset') });

  switch (type) {
    case 'generation.created':
      return {
        type,
        ...place(),
        request_id: textOrNull(message, 'request_id'),
        model: textOrNull(message, 'model') ?? '',
      };
    case 'token.delta':
      return {
        type,
        ...place(),
        index: number(message, 'index'),
        id: number(message, 'id'),
        text: text(message, 'text'),
        logprob: number(message, 'logprob'),
      };
    case 'score.delta': {
      const given = record('scores');
      const scores: Partial<Record<Method, number>> = {};
      for (const method of METHODS) if (given[method] !== undefined) scores[method] = number(given, method);
      const left: readonly unknown[] = Array.isArray(message.skipped) ? message.skipped : [];
      const rival = isRecord(message.rival) ? message.rival : null;
      return {
        type,
        ...place(),
        index: number(message, 'index'),
        pass: text(message, 'pass'),
        scores,
        skipped: METHODS.filter((method) => left.includes(method)),
        rival: rival && {
          id: number(rival, 'id'),
          text: text(rival, 'text'),
          before: number(rival, 'before'),
          after: number(rival, 'after'),
        },
      };
    }
    case 'step.done':
      return {
        type,
        ...place(),
        from: number(message, 'from'),
        to: number(message, 'to'),
        flagged: message.flagged === true,
      };
    case 'token.retracted':
      return { type, ...place(), from: number(message, 'from') };
    case 'generation.done': {
      const given = message.finish_reason;
      const reason = FINISH_REASONS.find((known) => known === given);
      return { type, ...place(), finish_reason: reason ?? refuse(`the unknown finish reason ${given}`) };
    }
    case 'error': {
      const error = record('error');
      return {
        type,
        response_id: textOrNull(message, 'response_id'),
        request_id: textOrNull(message, 'request_id'),
        message: text(error, 'message'),
        code: textOrNull(error, 'code'),
      };
    }
    default:
      if (typeof type !== 'string') return refuse('a message without a type');
      return message.response_id === undefined ? null : { type: 'unknown', ...place() };
  }
}
