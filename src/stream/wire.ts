import type { TokenLogprob } from '../engine/sampler.js';
import type { Tokenizer } from '../model/tokenizer.js';
import type { DoneEvent, GuardEvent, ScoreEvent, TokenEvent } from './events.js';

/** Events as JSON carries them (gateway/PROTOCOL.md): `snake_case`, with texts beside ids. */

export function eventFields(event: GuardEvent, tokenizer: Tokenizer) {
  // Of all others the fields have the same names on the wire, which are single words; the type comes first.
  const { type, ...fields } = event;
  if (event.type === 'token.delta') {
    const { topLogprobs } = event;
    const top = topLogprobs.length > 0 && { top_logprobs: topLogprobFields(topLogprobs, tokenizer) };
    return { type, ...tokenFields(event), ...top };
  }
  if (event.type === 'score.delta') {
    const { index, pass } = event;
    return { type, index, pass, ...scoreFields(event, tokenizer) };
  }
  if (event.type === 'generation.done') {
    return { type, finish_reason: event.finishReason, usage: usageFields(event.usage) };
  }
  return { type, ...fields };
}

export function tokenFields({ index, id, text, logprob, inserted }: TokenEvent) {
  return { index, id, text, logprob, ...(inserted && { inserted }) };
}

export function scoreFields(
  { scores, skipped, rival, risk }: Pick<ScoreEvent, 'scores' | 'skipped' | 'rival' | 'risk'>,
  tokenizer: Tokenizer,
) {
  return {
    scores,
    ...(risk && Object.keys(risk).length > 0 && { risk }),
    ...(skipped.length > 0 && { skipped }),
    ...(rival && { rival: { ...rival, text: tokenizer.tokenText(rival.id) } }),
  };
}

export function usageFields({ promptTokens, completionTokens, generatedTokens = 0 }: DoneEvent['usage']) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(generatedTokens > completionTokens && { generated_tokens: generatedTokens }),
  };
}

function topLogprobFields(top: readonly TokenLogprob[], tokenizer: Tokenizer) {
  return top.map(({ id, logprob }) => ({ id, text: tokenizer.tokenText(id), logprob }));
}
