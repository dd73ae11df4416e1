import type { DoneEvent, ScoreEvent, StepClosedEvent, TokenEvent } from '#src/index.js';

export const tokenEvent = (index: number, fields: Partial<TokenEvent> = {}): TokenEvent => ({
  type: 'token.delta',
  index,
  id: 100 + index,
  text: '',
  logprob: -1,
  topLogprobs: [],
  ...fields,
});

/** Scores of the streaming schedule. */
export const scoreEvent = (index: number, fields: Partial<ScoreEvent>): ScoreEvent => ({
  type: 'score.delta',
  index,
  pass: 'stream',
  scores: {},
  skipped: [],
  rival: null,
  ...fields,
});

export const closedEvent = (step: number, from: number, to: number): StepClosedEvent => ({
  type: 'step.closed',
  step,
  from,
  to,
  text: `step ${step}`,
});

export const doneEvent = (
  finishReason: DoneEvent['finishReason'] = 'stop',
  completionTokens = 0,
  usage: Partial<DoneEvent['usage']> = {},
): DoneEvent => ({
  type: 'generation.done',
  finishReason,
  usage: { promptTokens: 1, completionTokens, ...usage },
});
