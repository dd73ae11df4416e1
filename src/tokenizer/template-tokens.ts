import { ModelError, TemplateError, TextLimitError } from '../files/file-errors.js';
import type { ChatMessage, ChatTemplate } from './chat-template.js';

/** Milliseconds that one conversation may take. */
const LIMIT_MS = 1000;
const QUESTION: ChatMessage = { role: 'user', content: 'What is 6 times 7?' };
const ANSWER = 'Forty-two, friend.';
/** An answer that is the last message, and one that a question follows. */
const CONVERSATIONS: readonly (readonly ChatMessage[])[] = [
  [QUESTION, { role: 'assistant', content: ANSWER }],
  [QUESTION, { role: 'assistant', content: ANSWER }, QUESTION],
  [QUESTION],
];

/** The conversations as the template writes them; what it refuses is left out, as the request would be. */
export function conversationsOf(template: ChatTemplate): readonly string[] {
  if (template.source === null) return [];
  return CONVERSATIONS.flatMap((messages, i) => {
    try {
      return template.render(messages, { addGenerationPrompt: i > 0, limitMs: LIMIT_MS });
    } catch (error) {
      if (error instanceof TemplateError || error instanceof ModelError || error instanceof TextLimitError) {
        return [];
      }
      throw error;
    }
  });
}

/**
 * The token with which a template closes an answer, whatever its name: the one after the text of the last message, or
 * else, where nothing closes that, the one that opens what follows an answer.
 *
 * @param conversations as {@link conversationsOf} gives them
 * @param tokens contents of those that text is searched for
 */
export function closingToken(conversations: readonly string[], tokens: readonly string[]): string | null {
  for (const text of conversations) {
    const at = text.lastIndexOf(ANSWER);
    if (at < 0) continue;
    const rest = text.slice(at + ANSWER.length).trimStart();
    const found = tokens.filter((token) => rest.startsWith(token));
    if (found.length > 0)
      return found.reduce((longest, token) => (token.length > longest.length ? token : longest));
  }
  return null;
}

/**
 * Faults of tokens that a template writes by their name, such as `bos_token`: those that no file names, and those that
 * the vocabulary does not have.
 *
 * @param has whether a token is in the vocabulary
 */
export function tokenFaults(template: ChatTemplate, has: (token: string) => boolean): string[] {
  const { source, toolUse, namedTokens } = template;
  const names = new Set(`${source ?? ''}\n${toolUse ?? ''}`.match(/\b\w+_token\b/g));
  const marks = new Map([...names].map((name, i) => [name, `\ue000${i}\ue001`] as const));
  const text = names.size > 0 ? conversationsOf(template.withTokens(marks)).join('\n') : '';
  return [...marks].flatMap(([name, mark]) => {
    if (!text.includes(mark)) return [];
    const token = namedTokens.get(name);
    if (token === undefined) return [`the chat template writes ${name}, which no file names: it is left out`];
    return has(token)
      ? []
      : [`${name} is ${JSON.stringify(token)}, which is no token: a prompt has it as text`];
  });
}
