import type { Logger } from 'pino';
import { tap } from 'rxjs';
import type { Config } from '../config/config.js';
import { ApiError } from '../errors/api-error.js';
import type { Prompt } from '../requests/completion-request.js';
import type { GenerationFields } from '../requests/generation-request.js';
import type { Message } from '../requests/messages.js';
import { Models } from './models.js';
import type { Prepared, PrepareOptions, ServedModel } from './served-model.js';

export interface Bounds {
  readonly limits: Pick<Config['limits'], 'prompt_characters' | 'response_tokens' | 'work'>;
  /** Where prompts and responses are to be logged; `null` for nowhere. */
  readonly texts: Logger | null;
}

/** The same models, for requests within the limits alone. */
export function servedWithin(models: Models, bounds: Bounds): Models {
  return new Models(models.all.map((model) => new BoundedModel(model, bounds)));
}

class BoundedModel implements ServedModel {
  readonly name: string;
  readonly #model: ServedModel;
  readonly #bounds: Bounds;

  constructor(model: ServedModel, bounds: Bounds) {
    this.name = model.name;
    this.#model = model;
    this.#bounds = bounds;
  }

  get inside() {
    return this.#model.inside;
  }

  get forward() {
    return this.#model.forward;
  }

  get about() {
    return this.#model.about;
  }

  status() {
    return this.#model.status();
  }

  async prepare(request: GenerationFields, options: PrepareOptions): Promise<Prepared> {
    const { limits, texts } = this.#bounds;
    checkPrompt(request, options.prompt, limits.prompt_characters);
    const maxTokens = limits.response_tokens;
    if (maxTokens !== undefined) checkTokens(request, maxTokens);
    const prepared = await this.#model.prepare(request, {
      ...options,
      ...(maxTokens !== undefined && { maxTokens }),
      ...(limits.work !== undefined && { maxWork: limits.work }),
    });
    return texts
      ? withTexts(prepared, { messages: request.messages, prompt: options.prompt }, texts)
      : prepared;
  }
}

/** @throws ApiError 400 */
function checkPrompt({ messages }: GenerationFields, prompt: Prompt = '', limit: number): void {
  // Of ids nobody but the model knows the text; its context bounds them.
  const own = typeof prompt === 'string' ? prompt.length : 0;
  const characters = messages.reduce((sum, message) => sum + lengthOf(message), own);
  if (characters <= limit) return;
  const text = `messages: ${characters} characters exceed the limit of ${limit}`;
  throw new ApiError(400, 'prompt_too_long', text, 'messages');
}

/** Of its text; other parts, such as images, are bounded by the size of the body. */
const lengthOf = ({ content }: Message): number =>
  typeof content === 'string'
    ? content.length
    : (content ?? []).reduce((sum, { text }) => sum + (typeof text === 'string' ? text.length : 0), 0);

/** @throws ApiError 400 that names the field */
function checkTokens(request: GenerationFields, limit: number): void {
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const asked = request[field] ?? 0;
    if (asked <= limit) continue;
    const text = `${field}: ${asked} tokens exceed the limit of ${limit}`;
    throw new ApiError(400, 'invalid_value', text, field);
  }
}

/** Logs the prompt as it starts and what was written for it at its end, whatever that is. */
function withTexts(
  prepared: Prepared,
  { messages, prompt }: { readonly messages: readonly Message[]; readonly prompt: Prompt | undefined },
  logger: Logger,
): Prepared {
  return {
    ...prepared,
    start: (gate) => {
      logger.info({ model: prepared.model, ...(prompt === undefined ? { messages } : { prompt }) }, 'prompt');
      const tokens: string[] = [];
      return prepared.start(gate).pipe(
        tap({
          next: (event) => {
            if (event.type === 'token.delta') tokens.push(event.part ? '' : event.text);
            if (event.type === 'token.retracted') tokens.length = event.from;
          },
          finalize: () => logger.info({ model: prepared.model, response: tokens.join('') }, 'response'),
        }),
      );
    },
  };
}
