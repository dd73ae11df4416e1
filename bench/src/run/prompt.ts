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

/** The whole prompt of a problem: the template with the question, up to where the response begins. */
export function promptOf(
  checkpoint: Checkpoint,
  suite: Pick<Suite, 'messages'>,
  problem: BenchProblem,
  system: string | null,
): number[] {
  const told: ChatMessage[] = system === null ? [] : [{ role: 'system', content: system }];
  return encodePrompt(checkpoint, [...told, ...suite.messages(problem)]);
}

/**
 * The tokens of a response that somebody else wrote: those that the tokenizer makes of its text, after the prompt.
 * @returns `null` where they do not give the text back, as no span of it could then be found: some tokenizers normalise
 */
export function encodeGiven(
  { tokenizer }: Pick<Checkpoint, 'tokenizer'>,
  given: GivenResponse,
): { readonly tokenIds: number[]; readonly tokenTexts: string[] } | null {
  const text = responseText(given);
  const tokenIds = tokenizer.encodePlain(text);
  const detokenizer = new Detokenizer(tokenizer);
  const tokenTexts = tokenIds.map((token) => detokenizer.push(token));
  if (tokenTexts.length > 0) tokenTexts[tokenTexts.length - 1] += detokenizer.flush();
  return tokenTexts.join('') === text ? { tokenIds, tokenTexts } : null;
}
