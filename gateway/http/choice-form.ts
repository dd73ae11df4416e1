import type { Json } from '../upstream/wire/wire-json.js';
import type { AssembledChoice } from './assemble.js';

/** A token with its log-probability, as OpenAI's chats have it. */
export interface OpenAiToken {
  readonly token: string;
  readonly logprob: number | null;
  readonly bytes: readonly number[];
}

export interface LogprobEntry extends OpenAiToken {
  /** Text that the token adds. */
  readonly text: string;
  readonly top: readonly OpenAiToken[];
}

/** How one of OpenAI's APIs writes the choices of an answer. */
export interface ChoiceForm {
  readonly objects: { readonly whole: string; readonly chunk: string };
  /** Fields of the first chunk. */
  readonly opening: Json;
  /** Fields of a chunk with a text; none without one. */
  delta(text?: string): Json;
  /** Fields of a choice from an upstream. */
  passed(choice: Json): Json;
  /** A choice of a whole answer. */
  whole(choice: AssembledChoice, text: string): Json;
  /** The text of a choice that an upstream wrote beside the first. */
  textOf(choice: AssembledChoice): string;
  /** Whether log-probabilities may be told of more than the text, such as of a refusal. */
  readonly tellsBeside: boolean;
  /** @param at characters before the first of them */
  logprobs(entries: readonly LogprobEntry[], at: number): Json;
}

/** Chat completions. */
export const CHAT_FORM: ChoiceForm = {
  objects: { whole: 'chat.completion', chunk: 'chat.completion.chunk' },
  opening: { delta: { role: 'assistant', content: '' } },
  delta: (content) => ({ delta: content === undefined ? {} : { content } }),
  passed: (choice) => choice,
  whole: ({ message, ...choice }, text) => ({ ...choice, message: messageOf(text, message) }),
  textOf: ({ message: { content } }) => (typeof content === 'string' ? content : ''),
  tellsBeside: true,
  logprobs: (entries) => ({ content: entries.map(chatEntry), refusal: null }),
};

export const chatEntry = ({ text: _, top, ...token }: LogprobEntry): Json => ({
  ...token,
  top_logprobs: top,
});

/** A message that has something else than text has no content, as OpenAI's. */
function messageOf(text: string, message: AssembledChoice['message']): Json {
  const { role: _, content, ...rest } = message;
  const other = Object.keys(rest).length > 0;
  const shown = Array.isArray(content) ? [...content, ...(text ? [{ type: 'text', text }] : [])] : text;
  return { role: 'assistant', content: shown === '' && other ? null : shown, refusal: null, ...rest };
}

/** Completions of a prompt, as they were before chats. */
export const TEXT_FORM: ChoiceForm = {
  objects: { whole: 'text_completion', chunk: 'text_completion' },
  opening: { text: '' },
  delta: (text = '') => ({ text }),
  passed: ({ delta: _, ...choice }) => ({ text: '', ...choice }),
  whole: ({ message: _, ...choice }, text) => ({ ...choice, text }),
  textOf: ({ text }) => (typeof text === 'string' ? text : ''),
  tellsBeside: false,
  logprobs: (entries, at) => {
    let offset = at;
    const offsets = entries.map(({ text }) => {
      const own = offset;
      offset += charactersOf(text);
      return own;
    });
    return {
      tokens: entries.map(({ token }) => token),
      token_logprobs: entries.map(({ logprob }) => logprob),
      // The token itself always, as OpenAI's.
      top_logprobs: entries.map(({ token, logprob, top }) => ({
        ...Object.fromEntries(top.map((other) => [other.token, other.logprob])),
        [token]: logprob,
      })),
      text_offset: offsets,
    };
  },
};

/** The text of responses, of which they make their own events. */
export const RESPONSE_FORM: ChoiceForm = {
  ...CHAT_FORM,
  delta: (delta = '') => ({ delta }),
};

/** Number of characters as in Python: its servers send offsets in these. */
export const charactersOf = (text: string): number => [...text].length;
