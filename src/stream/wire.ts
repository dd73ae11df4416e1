import type { TokenLogprob } from '../engine/sampler.js';
import type { Tokenizer } from '../model/tokenizer.js';
import type { DoneEvent, GenerationEvent, ScoreEvent, TokenEvent } from './events.js';

/** Events as JSON carries them (gateway/PROTOCOL.md): `snake_case`, with texts beside ids. */

export function eventFields(event: GenerationEvent, tokenizer: Tokenizer) {
  const { type } = event;
  if (type === 'token.delta') {
    const { topLogprobs } = event;
    const top = topLogprobs.length > 0 && { top_logprobs: topLogprobFields(topLogprobs, tokenizer) };
    return { type, ...tokenFields(event), ...top };
  }
  if (type === 'score.delta') {
    const { index, pass } = event;
    return { type, index, pass, ...scoreFields(event, tokenizer) };
  }
  return { type, finish_reason: event.finishReason, usage: usageFields(event.usage) };
}

export function tokenFields({ index, id, text, logprob }: TokenEvent) {
  return { index, id, text, logprob };
}

export function scoreFields(
  { scores, skipped, rival }: Pick<ScoreEvent, 'scores' | 'skipped' | 'rival'>,
  tokenizer: Tokenizer,
) {
  return {
    scores,
    ...(skipped.length > 0 && { skipped }),
    ...(rival && { rival: { ...rival, text: tokenizer.tokenText(rival.id) } }),
  };
}

export function usageFields({ promptTokens, completionTokens }: DoneEvent['usage']) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

function topLogprobFields(top: readonly TokenLogprob[], tokenizer: Tokenizer) {
  return top.map(({ id, logprob }) => ({ id, text: tokenizer.tokenText(id), logprob }));
}
