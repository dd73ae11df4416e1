import { TemplateError, TextLimitError, UsageError } from '../files/file-errors.js';
import type { ChatMessage, ChatTemplate, TemplateVariables } from './chat-template.js';
import type { Tokenizer } from './tokenizer.js';

/** A prompt as a model reads it. */
export interface EncodedPrompt {
  readonly ids: number[];
  /** The same as text; `null` where the text alone would say something else, by names of special tokens in messages. */
  readonly text: string | null;
}

export interface PromptModel {
  readonly chatTemplate: ChatTemplate;
  readonly tokenizer: Tokenizer;
}

export interface PromptLimits {
  /** Milliseconds for the chat template. */
  readonly renderMs: number;
  /** Characters of the rendered text. */
  readonly characters: number;
}

const NO_LIMITS: PromptLimits = { renderMs: 10_000, characters: Number.POSITIVE_INFINITY };

/**
 * Token ids of a conversation that the model is to continue. The template writes every special token itself: where a
 * message holds the name of one (`<|im_end|>`), that is text, and cannot end the message.
 *
 * @param variables what the template is given besides the messages
 * @throws TemplateError where the template refuses the messages
 * @throws ModelError where the model has no template, or it fails
 * @throws TextLimitError where the template takes more than 10 s, or makes too much of the messages
 */
export function encodePrompt(
  model: PromptModel,
  messages: readonly ChatMessage[],
  variables: TemplateVariables = {},
): number[] {
  return promptOf(model, messages, variables).ids;
}

/**
 * Token ids of a text that no chat template surrounds, after those that the tokenizer puts before every text. The names
 * of special tokens are those tokens.
 *
 * @throws UsageError if it is not known which tokens come before a text
 */
export function encodeText(tokenizer: Pick<Tokenizer, 'prefix' | 'encode'>, text: string): number[] {
  if (tokenizer.prefix !== null) return [...tokenizer.prefix, ...tokenizer.encode(text)];
  throw new UsageError("prompt: it is unknown which tokens this model's tokenizer puts before a text");
}

/**
 * A conversation as {@link encodePrompt} encodes it, with its text.
 * @throws as encodePrompt
 */
export function promptOf(
  { chatTemplate, tokenizer }: PromptModel,
  messages: readonly ChatMessage[],
  variables: TemplateVariables,
  limits = NO_LIMITS,
): EncodedPrompt {
  const render = (shown: readonly ChatMessage[]): string => {
    const limitMs = limits.renderMs;
    const text = chatTemplate.render(shown, { addGenerationPrompt: true, variables, limitMs });
    if (text.length <= limits.characters) return text;
    throw new TextLimitError(`the prompt has more than ${limits.characters} characters`);
  };
  if (!messages.some(({ content }) => tokenizer.specialsIn(content ?? '').length > 0)) {
    const text = render(messages);
    return { ids: tokenizer.encode(text), text };
  }
  const mark = unusedIn(messages);
  const marked = messages.map((message) => ({
    ...message,
    ...(message.content && { content: breakSpecials(message.content, mark, tokenizer) }),
  }));
  return { ids: encodeMarked(render(marked), mark, tokenizer), text: null };
}

/** A character of the private use area that no message holds. */
function unusedIn(messages: readonly ChatMessage[]): string {
  for (let code = 0xe000; code <= 0xf8ff; code++) {
    const char = String.fromCharCode(code);
    if (!messages.some(({ content }) => content?.includes(char))) return char;
  }
  throw new TemplateError('messages', 'contain the whole private use area and names of special tokens');
}

/** Puts the mark inside each name of a special token, so that the template's own can be told from them. */
function breakSpecials(text: string, mark: string, tokenizer: Tokenizer): string {
  const found = tokenizer.specialsIn(text);
  if (found.length === 0) return text;
  const cuts = found.map(({ index }) => index + 1);
  const parts = [0, ...cuts].map((cut, i) => text.slice(cut, cuts[i]));
  return breakSpecials(parts.join(mark), mark, tokenizer); // names may overlap
}

/** Text between two special tokens of the template that holds the mark is encoded without special tokens. */
function encodeMarked(text: string, mark: string, tokenizer: Tokenizer): number[] {
  const ids: number[] = [];
  let run = '';
  const add = (section: string, special: string): void => {
    if (!section.includes(mark)) {
      run += section + special;
      return;
    }
    for (const id of tokenizer.encode(run)) ids.push(id);
    for (const id of tokenizer.encodePlain(section.replaceAll(mark, ''))) ids.push(id);
    run = special;
  };
  let end = 0;
  for (const { index, 0: special } of tokenizer.specialsIn(text)) {
    add(text.slice(end, index), special);
    end = index + special.length;
  }
  add(text.slice(end), '');
  for (const id of tokenizer.encode(run)) ids.push(id);
  return ids;
}
