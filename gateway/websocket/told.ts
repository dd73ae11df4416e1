import { readEvent } from '../../client/src/read-event.js';
import type { GuardEvent, ScoreEvent, TokenEvent } from '../../src/stream/events.js';

type ServerEvent = ReturnType<typeof readEvent>;
type EventOf<Type extends ServerEvent['type']> = Extract<ServerEvent, { readonly type: Type }>;

/** What was told of a generation. */
export interface Told {
  readonly created: EventOf<'generation.created'>;
  readonly events: readonly GuardEvent[];
}

/**
 * Reads the frames of a generation back, from its first on.
 * @returns `null` for frames that are not those of a generation that is under way
 * @throws ProtocolError for one that is not of the protocol
 */
export function toldOf(id: string, frames: readonly string[]): Told | null {
  const [created, ...others] = frames.map((frame) => readEvent(frame));
  if (created?.type !== 'generation.created' || !isAt(created, id, 0)) return null;
  const events: GuardEvent[] = [];
  for (const [i, event] of others.entries()) {
    const told = isAt(event, id, i + 1) ? guardEvent(event) : null;
    if (!told) return null;
    events.push(told);
  }
  return { created, events };
}

const isAt = (event: ServerEvent, id: string, at: number): boolean =>
  'offset' in event && event.offset === at && 'response_id' in event && event.response_id === id;

/** Fields have the same names on the wire, but for those that have several words. */
function guardEvent(event: ServerEvent): GuardEvent | null {
  switch (event.type) {
    case 'token.delta':
      return tokenEvent(event);
    case 'score.delta':
      return scoreEvent(event);
    case 'step.done': {
      const { response_id: _, offset: __, part, unscored, held, ...fields } = event;
      return { ...fields, ...(part && { part }), ...(unscored && { unscored }), ...(held && { held }) };
    }
    case 'step.flagged': {
      const { response_id: _, offset: __, part, unscored, ...fields } = event;
      return { ...fields, ...(part && { part }), ...(unscored && { unscored }) };
    }
    case 'spike.detected':
    case 'token.retracted':
    case 'rollback.started':
    case 'rollback.done':
    case 'scorer.mismatch':
    case 'upstream.delta': {
      const { response_id: _, offset: __, ...fields } = event;
      return fields;
    }
    default:
      return null;
  }
}

function scoreEvent(event: EventOf<'score.delta'>): ScoreEvent {
  const { type, index, pass, scores, part, risk, skipped = [], reason, missing, rival = null } = event;
  const why = { ...(reason && { reason }), ...(missing && { missing }) };
  return { type, index, ...(part && { part }), pass, scores, skipped, ...why, rival, ...(risk && { risk }) };
}

function tokenEvent(event: EventOf<'token.delta'>): TokenEvent {
  const { type, index, id, text, part, part_text, call, logprob, top_logprobs = [], inserted } = event;
  return {
    ...{ type, index, id, text: part_text ?? text, logprob, topLogprobs: top_logprobs },
    ...(part && { part }),
    ...(call !== undefined && { call }),
    ...(inserted && { inserted }),
  };
}
