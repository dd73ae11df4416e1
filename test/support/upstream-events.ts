/** What a gateway sends of an upstream that gives log-probabilities alone, of a text of one token. */
export function withoutScorer(
  request_id: string,
  {
    text = 'Hm',
    events = [],
    warnings = ['adversarial: there is no scorer'],
  }: { text?: string; events?: readonly object[]; warnings?: readonly string[] } = {},
): readonly object[] {
  const guard = {
    enabled: true,
    methods: ['nll'],
    method: 'nll',
    rate: 0.02,
    delivery: 'immediate',
    action: 'annotate',
    warnings,
  };
  const created = {
    type: 'generation.created',
    request_id,
    created: 1,
    model: 'upstream',
    prompt_tokens: null,
    guard,
    epoch: 'one',
    resumable: false,
  };
  return [
    created,
    { type: 'token.delta', index: 0, id: null, text, logprob: null },
    { type: 'score.delta', index: 0, pass: 'stream', scores: { nll: 0.5 } },
    ...events,
    {
      type: 'generation.done',
      finish_reason: 'stop',
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    },
  ].map((event, offset) => ({ response_id: 'resp-1', offset, ...event }));
}

/** Its only step is flagged. */
export const flagOf = (text: string) => ({
  type: 'step.flagged',
  step: 0,
  from: 0,
  to: 1,
  text,
  method: 'nll',
  score: 0.5,
  risk: 0.99,
  calibrated: false,
  action: 'annotate',
});

/** The verdict on its only step. */
export const flaggedStep = (text: string) => ({
  type: 'step.done',
  step: 0,
  from: 0,
  to: 1,
  text,
  per: 'step',
  method: 'nll',
  score: 0.5,
  risk: 0.99,
  calibrated: false,
  flagged: true,
});

export const MISMATCH = { type: 'scorer.mismatch', tokens: 20, difference: 1.2, tolerance: 0.1 };
