import { type Answer, EMPTY_ANSWER, FlinchError, failAnswer, foldAnswer } from 'flinch-client';
import {
  type GenerationEvent,
  ProtocolError,
  readEvent,
  type ServerEvent,
  type UnknownEvent,
} from 'flinch-client/protocol';

export interface RecordedEvent {
  /** Time since the question was asked. */
  readonly atMs: number;
  readonly event: GenerationEvent;
}

/** An answer as it came, to be kept. */
export interface Recording {
  readonly question: string;
  readonly model: string;
  readonly events: readonly RecordedEvent[];
  /** Why it ended without `generation.done`. */
  readonly error: FlinchError | null;
}

export const durationOf = ({ events }: Recording): number => events.at(-1)?.atMs ?? 0;

/** The answer that its events make, as it ended. @throws FlinchError for events that do not fit together */
export function answerIn({ events, error }: Recording): Answer {
  const answer = events.reduce((before, { event }) => foldAnswer(before, event), EMPTY_ANSWER);
  return error ? failAnswer(answer, error) : answer;
}

/** Recording as JSON lines: first a header, then each event with its time. */
export function toLines({ question, model, events, error }: Recording): string {
  const failure = error && { error: { code: error.code, message: error.message } };
  const head = { type: 'recording', protocol: 'flinch.v1', question, model, ...failure };
  const lines = events.map(({ atMs, event }) => ({ at_ms: Math.round(atMs), event }));
  return [head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/**
 * @throws ProtocolError for a text that is not a recording
 * @throws FlinchError for events that do not fit together
 */
export function fromLines(text: string): Recording {
  const [head, ...rest] = text.split('\n').filter((line) => line.trim() !== '');
  const { type, question, model, error } = fieldsOf(head ?? '');
  if (type !== 'recording' || typeof question !== 'string' || typeof model !== 'string') {
    throw new ProtocolError('this is no recording of flinch', head ?? '');
  }
  const events = rest.map((line) => {
    const { at_ms: atMs, event } = fieldsOf(line);
    const read = readEvent(JSON.stringify(event ?? null));
    if (typeof atMs !== 'number' || !isOfGeneration(read)) {
      throw new ProtocolError('a line of the recording is not an event with a time', line);
    }
    return { atMs, event: read };
  });
  const recording = { question, model, events, error: errorOf(error) };
  answerIn(recording);
  return recording;
}

function isOfGeneration(event: ServerEvent | UnknownEvent): event is GenerationEvent {
  return !['unknown', 'generation.resumed', 'heartbeat', 'error'].includes(event.type);
}

function errorOf(value: unknown): FlinchError | null {
  if (typeof value !== 'object' || value === null || !('code' in value) || !('message' in value)) return null;
  return new FlinchError(String(value.code), String(value.message));
}

function fieldsOf(line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new ProtocolError('this is no recording of flinch', line);
  }
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
