import type { GuardEvent, UpstreamEvent } from '../../src/stream/events.js';
import type { ApiError } from '../errors/api-error.js';
import type { Encoding } from '../generations/live-generation.js';
import type { SaidGuard } from '../models/served-model.js';
import { withFields } from '../requests/exact-numbers.js';
import { textOf } from '../upstream/wire/chunks.js';
import { sseEvent } from './sse.js';

export interface VerbatimOptions {
  readonly id: string;
  readonly model: string;
  readonly guard: SaidGuard;
  /** Whether the client asked for the chunk with the usage. */
  readonly includeUsage: boolean;
}

/** The chunks of an answer that is not scored: the upstream's, with our names. */
export class VerbatimEncoding implements Encoding {
  readonly #options: VerbatimOptions;
  readonly #idPrefix: string;
  #started = false;

  constructor(options: VerbatimOptions, idPrefix: string) {
    this.#options = options;
    this.#idPrefix = idPrefix;
  }

  opening(): string[] {
    return [];
  }

  event(event: GuardEvent, offset: number): string[] {
    if (event.type === 'generation.done') return [sseEvent('[DONE]', `${this.#idPrefix}/${offset}`)];
    if (event.type !== 'upstream.delta' || this.#isUnasked(event)) return [];
    const { id, model, guard, includeUsage } = this.#options;
    const chunk = withFields(textOf(event.chunk), {
      id,
      model,
      ...(event.chunk.usage === null && !includeUsage && { usage: undefined }),
      // A verdict of the upstream is none of ours.
      flinch: this.#started ? undefined : { guard, tokens: [] },
    });
    this.#started = true;
    return [sseEvent(chunk, `${this.#idPrefix}/${offset}`)];
  }

  cancelled(): string[] {
    return [];
  }

  failed({ body }: ApiError, offset: number): string[] {
    return [sseEvent({ error: body }, `${this.#idPrefix}/${offset}`)];
  }

  /** The usage comes always, for the metrics. */
  #isUnasked({ chunk }: UpstreamEvent): boolean {
    const { choices, usage } = chunk;
    return !this.#options.includeUsage && Boolean(usage) && Array.isArray(choices) && choices.length === 0;
  }
}

/** The same where the upstream sends it whole. */
export function wholeVerbatim({
  id,
  model,
  guard,
}: Pick<VerbatimOptions, 'id' | 'model' | 'guard'>): Encoding {
  return {
    opening: () => [],
    event: (event) =>
      event.type === 'upstream.delta'
        ? [withFields(textOf(event.chunk), { id, model, flinch: { guard, tokens: [] } })]
        : [],
    cancelled: () => [],
    failed: () => [],
  };
}
