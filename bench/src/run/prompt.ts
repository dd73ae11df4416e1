import type { ChatMessage, Checkpoint } from 'flinch/internals';
import { Detokenizer, encodePrompt, TemplateError, UsageError } from 'flinch/internals';
import { responseText } from '../suites/processbench.js';
import type { BenchProblem, GivenResponse, Suite } from '../suites/suite.js';

/** The paper's. */
export const DEFAULT_SYSTEM = 'You are a helpful assistant.';

/**
 * What the model is told before the question. Templates that have no place for it refuse a system message, or leave it
 * out: by default these models are then told nothing.
 * @param asked `undefined` for the default, empty for none
 * @throws UsageError where a message was asked for and there is no place for it
 */
export function systemMessage(
  { chatTemplate }: Pick<Checkpoint, 'chatTemplate'>,
  asked: string | undefined,
): string | null {
  const content = asked ?? DEFAULT_SYSTEM;
  if (content === '') return null;
  try {
    const messages: ChatMessage[] = [
      { role: 'system', content },
      { role: 'user', content: 'x' },
    ];
    if (chatTemplate.render(messages, { addGenerationPrompt: true }).includes(content.trim())) return content;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
  }
  if (asked === undefined) return null;
  throw new UsageError("--system: the model's chat template does not support system messages");
}

/** What the model is told and asked. */
export const messagesOf = (
  suite: Pick<Suite, 'messages'>,
  problem: BenchProblem,
  system: string | null,
): ChatMessage[] => [
  ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
  ...suite.messages(problem),
];

/** The whole prompt of a problem: the template with the question, up to where the response begins. */
export const promptOf = (
  checkpoint: Checkpoint,
  suite: Pick<Suite, 'messages'>,
  problem: BenchProblem,
  system: string | null,
): number[] => encodePrompt(checkpoint, messagesOf(suite, problem, system));

/** The tokens of a response that comes with its problem, as {@link encodeText} finds them. */
export const encodeGiven = (checkpoint: Pick<Checkpoint, 'tokenizer'>, given: GivenResponse) =>
  encodeText(checkpoint, responseText(given));

/**
 * The tokens of a response of which only the text is known: those that the tokenizer makes of it, after the prompt.
 * @returns `null` where they do not give the text back, as no span of it could then be found: some tokenizers normalise
 */
export function encodeText(
  { tokenizer }: Pick<Checkpoint, 'tokenizer'>,
  text: string,
): { readonly tokenIds: number[]; readonly tokenTexts: string[] } | null {
  const tokenIds = tokenizer.encodePlain(text);
  const tokenTexts = textsOf(tokenizer, tokenIds);
  return tokenTexts.join('') === text ? { tokenIds, tokenTexts } : null;
}

/** What each token adds to the text. */
export function textsOf(tokenizer: Checkpoint['tokenizer'], tokenIds: readonly number[]): string[] {
  const detokenizer = new Detokenizer(tokenizer);
  const tokenTexts = tokenIds.map((token) => detokenizer.push(token));
  if (tokenTexts.length > 0) tokenTexts[tokenTexts.length - 1] += detokenizer.flush();
  return tokenTexts;
}
