import type { GuardEvent } from '../../src/stream/events.js';
import { eventFields, usageFields } from '../../src/stream/wire.js';
import type { Answer } from '../answers/served-model.js';
import type { ApiError } from '../errors/api-error.js';
import type { Encoding } from '../generations/live-generation.js';
import { jsonText } from '../requests/exact-numbers.js';

export interface StreamEncodingOptions {
  readonly id: string;
  readonly requestId: string | undefined;
  readonly epoch: string;
  readonly resumable: boolean;
  readonly answer: Answer;
}

/** A generation as the events of `flinch.v1`. */
export class StreamEncoding implements Encoding {
  readonly #options: StreamEncodingOptions;
  #completionTokens = 0;

  constructor(options: StreamEncodingOptions) {
    this.#options = options;
  }

  opening(): string[] {
    const { requestId, epoch, resumable, answer } = this.#options;
    const { model, promptTokens, guard } = answer;
    const echo = requestId === undefined ? {} : { request_id: requestId };
    const created = Math.floor(Date.now() / 1000);
    const fields = { ...echo, created, model, prompt_tokens: promptTokens, guard, epoch, resumable };
    return this.#frames({ type: 'generation.created', ...fields }, 0);
  }

  event(event: GuardEvent, offset: number): string[] {
    if (event.type === 'token.delta') this.#completionTokens = event.index + 1;
    if (event.type === 'token.retracted') this.#completionTokens = event.from;
    return this.#frames(eventFields(event, this.#options.answer.vocabulary), offset);
  }

  cancelled(offset: number): string[] {
    const { promptTokens } = this.#options.answer;
    const usage = usageFields({ promptTokens, completionTokens: this.#completionTokens });
    return this.#frames({ type: 'generation.done', finish_reason: 'cancelled', usage }, offset);
  }

  failed({ body }: ApiError, offset: number): string[] {
    return this.#frames({ type: 'error', error: body }, offset);
  }

  #frames({ type, ...fields }: { readonly type: string; readonly [field: string]: unknown }, offset: number) {
    return [jsonText({ type, response_id: this.#options.id, offset, ...fields })];
  }
}
