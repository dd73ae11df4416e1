import type { GenerationEvent, Method, Scores } from '#gateway/web/protocol.js';

type Draft<Event> = Event extends GenerationEvent ? Omit<Event, 'response_id' | 'offset'> : never;

export const created = (requestId: string | null = 'page-0'): Draft<GenerationEvent> => ({
  type: 'generation.created',
  request_id: requestId,
  model: 'reasoner',
});

export const token = (index: number, text: string): Draft<GenerationEvent> => ({
  type: 'token.delta',
  index,
  id: 100 + index,
  text,
  logprob: -0.5,
});

export const score = (
  index: number,
  scores: Scores,
  pass = 'stream',
  skipped: readonly Method[] = [],
): Draft<GenerationEvent> => ({
  type: 'score.delta',
  index,
  pass,
  scores,
  skipped,
  rival: { id: 7, text: '7', before: 0.2, after: 0.21 },
});

export const done = {
  type: 'generation.done',
  finish_reason: 'stop',
} as const satisfies Draft<GenerationEvent>;

/** The events of one generation as the server numbers them. */
export const numbered = (
  drafts: readonly Draft<GenerationEvent>[],
  responseId = 'gen-1',
): GenerationEvent[] => drafts.map((draft, offset) => ({ ...draft, response_id: responseId, offset }));
