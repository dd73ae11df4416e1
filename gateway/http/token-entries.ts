import type { ScoreEvent, TokenEvent, TopToken } from '../../src/stream/events.js';
import { scoreFields, tokenFields, type Vocabulary } from '../../src/stream/wire.js';
import type { LogprobEntry, OpenAiToken } from './choice-form.js';

/** Fields of a token beside the text, with its scores once they are there. */
export const scoredToken = (token: TokenEvent, vocabulary: Vocabulary, score?: ScoreEvent): object => ({
  ...tokenFields(token),
  ...(score && scoreFields(score, vocabulary)),
});

/** Fields of a token for OpenAI's `logprobs`. */
export const logprobEntry = (token: TokenEvent, vocabulary: Vocabulary): LogprobEntry => ({
  ...openAiToken(token, vocabulary, token.text),
  text: token.text,
  top: token.topLogprobs.map((other) => openAiToken(other, vocabulary)),
});

/** @param written its text within the response, for a token that is not known by itself */
function openAiToken(
  token: (TokenEvent | TopToken) & Pick<Partial<TopToken>, 'bytes'>,
  vocabulary: Vocabulary,
  written?: string,
): OpenAiToken {
  const { id, name, logprob, bytes } = token;
  if (name) return { token: name, logprob, bytes: [...(bytes ?? Buffer.from(name))] };
  const text = vocabulary && id !== null ? vocabulary.tokenText(id) : (token.text ?? written ?? '');
  const given = bytes ?? (vocabulary && id !== null ? vocabulary.tokenBytes(id) : Buffer.from(text));
  return { token: text, logprob, bytes: [...given] };
}
