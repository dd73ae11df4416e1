import type { Engine } from '../../../src/engine/engine.js';
import type { Asked } from '../../answers/asked.js';
import { promptOf, rawPromptOf } from '../../models/request-prompt.js';
import type { Prompt } from '../../requests/completion-request.js';
import type { GenerationFields } from '../../requests/generation-request.js';
import { isPlain } from '../../requests/response-request.js';
import type { Capabilities } from '../upstream.js';
import { templateInput } from './template-input.js';

/** The server's input as far as the scorer knows it. */
export interface ScorerInput {
  /** Why it does not see it, for people; `null` where it does. */
  readonly unseen: string | null;
  /** `null` where only the server knows them. */
  readonly promptIds: readonly number[] | null;
  /** The same as text; `null` also where the text alone would say something else. */
  readonly prompt: string | null;
  /** Whether all servers read the same. */
  readonly certain: boolean;
}

const only = 'only what the log-probabilities of the upstream allow is computed';
const UNSEEN_MESSAGES = `unscored: the scorer does not see the prompt, because the messages have parts that are no text, such as images, or because the request has its own chat template or continues a message or a response; ${only}`;
const UNSEEN_PROMPT = `unscored: the scorer does not see all of the prompt, because the request has a suffix, embeddings or a truncation; ${only}`;
const UNKNOWN_PREFIX = `unscored: it is unknown which tokens the tokenizer puts before a text, and the upstream does not return the ids of the prompt; ${only}`;

const UNKNOWN_TEMPLATE = `unscored: it is unknown whether the upstream puts a chat template around the prompt, because it takes no token ids; ${only}`;

const unseenFor = (unseen: string): ScorerInput => ({ unseen, promptIds: null, prompt: null, certain: true });

/**
 * What a server reads, as far as the scorer knows it.
 * @throws ApiError 400; ModelError if neither side knows the ids of the prompt
 */
export const scorerInput = (
  engine: Engine,
  asked: Pick<Asked, 'fields' | 'prompt' | 'response'>,
  capabilities: Pick<Capabilities, 'tokenIds' | 'resume'>,
): Promise<ScorerInput> =>
  asked.prompt === undefined
    ? conversationInput(engine, asked, capabilities)
    : promptInput(engine, asked.fields, asked.prompt, capabilities);

/** Input of a chat, by the scorer's template. */
export async function conversationInput(
  engine: Engine,
  { fields: request, response }: Pick<Asked, 'fields' | 'response'>,
  { tokenIds }: Pick<Capabilities, 'tokenIds'>,
): Promise<ScorerInput> {
  const { chatTemplate } = engine.checkpoint;
  const conversation = response && !isPlain(response) ? null : templateInput(request);
  if (conversation === null) return { ...unseenFor(UNSEEN_MESSAGES), certain: false };
  const { messages, variables, certain } = conversation;
  const templated = chatTemplate.source !== null || tokenIds !== 'return_token_ids';
  const prompt = templated ? await promptOf(engine, messages, variables) : null;
  return { unseen: null, promptIds: prompt?.ids ?? null, prompt: prompt?.text ?? null, certain };
}

/** Fields of OpenAI and vLLM by which a server reads something else than the prompt. */
const OTHER_INPUT = ['suffix', 'prompt_embeds', 'truncate_prompt_tokens'] as const;

/** Input of a completion: its ids, or the text as the scorer's tokenizer reads it. */
async function promptInput(
  engine: Engine,
  request: GenerationFields,
  prompt: Prompt,
  { tokenIds, resume }: Pick<Capabilities, 'tokenIds' | 'resume'>,
): Promise<ScorerInput> {
  if (OTHER_INPUT.some((name) => (request[name] ?? null) !== null)) return unseenFor(UNSEEN_PROMPT);
  // Ollama's completions put a template around a text. Where ids are told, those of the server count.
  if (tokenIds !== 'return_token_ids' && resume !== 'tokens') return unseenFor(UNKNOWN_TEMPLATE);
  // vLLM's field.
  const prefix = request.add_special_tokens === false ? [] : undefined;
  const promptIds = await rawPromptOf(engine, prompt, prefix);
  if (promptIds === null && tokenIds !== 'return_token_ids') return unseenFor(UNKNOWN_PREFIX);
  return { unseen: null, promptIds, prompt: typeof prompt === 'string' ? prompt : null, certain: true };
}
