import type { TokenLogprob } from '../src/engine/sampler.js';
import type { Tokenizer } from '../src/model/tokenizer.js';
import type { DoneEvent, ScoreEvent, TokenEvent } from '../src/stream/events.js';

/** Events as both transports write them: `snake_case`, with texts beside ids. */

export function tokenFields({ index, id, text, logprob }: TokenEvent) {
  return { index, id, text, logprob };
}

export function topLogprobFields(top: readonly TokenLogprob[], tokenizer: Tokenizer) {
  return top.map(({ id, logprob }) => ({ id, text: tokenizer.tokenText(id), logprob }));
}

export function scoreFields({ scores, rival }: ScoreEvent, tokenizer: Tokenizer) {
  return { scores, ...(rival && { rival: { ...rival, text: tokenizer.tokenText(rival.id) } }) };
}

export function usageFields({ promptTokens, completionTokens }: DoneEvent['usage']) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
