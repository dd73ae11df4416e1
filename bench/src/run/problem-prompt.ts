import { type ChatMessage, type Checkpoint, encodePrompt, encodeText } from 'flinch';
import { Detokenizer, TemplateError } from 'flinch/internals';
import { responseText } from '../suites/processbench.js';
import type { BenchProblem, Completion, GivenResponse, Suite } from '../suites/suite.js';

/** The paper's. */
const SYSTEM = 'You are a helpful assistant.';

/** How the model is asked if it has no chat template; `undefined` if it is asked by messages. */
const completionOf = (
  { chatTemplate }: Pick<Checkpoint, 'chatTemplate'>,
  { completion }: Pick<Suite, 'completion'>,
): Completion | undefined => (chatTemplate.source === null ? completion : undefined);

/**
 * System message. Templates without a place for one refuse it, or leave it out: these models get none.
 * @throws ModelError for a model that can be asked neither by messages nor by a text
 */
export function systemMessage(
  checkpoint: Pick<Checkpoint, 'chatTemplate'>,
  suite: Pick<Suite, 'completion'>,
): string | null {
  const { chatTemplate } = checkpoint;
  if (completionOf(checkpoint, suite)) return null;
  const messages: ChatMessage[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: 'x' },
  ];
  try {
    return chatTemplate.render(messages, { addGenerationPrompt: true }).includes(SYSTEM) ? SYSTEM : null;
  } catch (error) {
    if (error instanceof TemplateError) return null;
    throw error;
  }
}

/** Messages to the model: system message, unless the question brings one, and question. */
export const messagesOf = (
  suite: Pick<Suite, 'messages'>,
  problem: BenchProblem,
  system: string | null,
): ChatMessage[] => {
  const messages = suite.messages(problem);
  const hasOwn = messages[0]?.role === 'system';
  return [...(system === null || hasOwn ? [] : [{ role: 'system' as const, content: system }]), ...messages];
};

/** The whole prompt of a problem, up to where the response begins: the template with the question, or a text. */
export const promptOf = (
  checkpoint: Checkpoint,
  suite: Pick<Suite, 'messages' | 'completion'>,
  problem: BenchProblem,
  system: string | null,
): number[] => {
  const completion = completionOf(checkpoint, suite);
  return completion
    ? encodeText(checkpoint.tokenizer, completion.prompt(problem))
    : encodePrompt(checkpoint, messagesOf(suite, problem, system));
};

/** Strings that end a response, beside the model's own end tokens. */
export const stopOf = (checkpoint: Checkpoint, suite: Pick<Suite, 'completion'>): readonly string[] =>
  completionOf(checkpoint, suite)?.stop ?? [];

/** The tokens of a response that comes with its problem, as {@link encodeResponse} finds them. */
export const encodeGiven = (checkpoint: Pick<Checkpoint, 'tokenizer'>, given: GivenResponse) =>
  encodeResponse(checkpoint, responseText(given));

/**
 * The tokens of a response of which only the text is known: those that the tokenizer makes of it, after the prompt.
 * @returns `null` where they do not give the text back, as no span of it could then be found: some tokenizers normalise
 */
export function encodeResponse(
  { tokenizer }: Pick<Checkpoint, 'tokenizer'>,
  text: string,
): { readonly tokenIds: number[]; readonly tokenTexts: string[] } | null {
  const tokenIds = tokenizer.encodePlain(text);
  const tokenTexts = textsOf(tokenizer, tokenIds);
  return tokenTexts.join('') === text ? { tokenIds, tokenTexts } : null;
}

/** Text that each token adds. */
export function textsOf(tokenizer: Checkpoint['tokenizer'], tokenIds: readonly number[]): string[] {
  const detokenizer = new Detokenizer(tokenizer);
  const tokenTexts = tokenIds.map((token) => detokenizer.push(token));
  if (tokenTexts.length > 0) tokenTexts[tokenTexts.length - 1] += detokenizer.flush();
  return tokenTexts;
}
