import type { UpstreamEvent } from '../../src/stream/events.js';
import { type Encoding, SILENT } from '../generations/live-generation.js';
import { withFields } from '../requests/exact-numbers.js';
import { textOf } from '../upstream/wire/chunks.js';
import type { SaidGuard } from './said-guard.js';
import { sseEvent } from './sse.js';

export interface VerbatimOptions {
  readonly id: string;
  readonly model: string;
  readonly guard: SaidGuard;
  /** Whether the client asked for the chunk with the usage. */
  readonly includeUsage: boolean;
}

/** The chunks of an answer that is not scored: the upstream's, with our names. A verdict of the upstream is none of ours. */
export function verbatimChunks(
  { id, model, guard, includeUsage }: VerbatimOptions,
  idPrefix: string,
): Encoding {
  let started = false;
  return {
    ...SILENT,
    event: (event, offset) => {
      if (event.type === 'generation.done') return [sseEvent('[DONE]', `${idPrefix}/${offset}`)];
      if (event.type !== 'upstream.delta' || (!includeUsage && hasUsageAlone(event))) return [];
      const chunk = withFields(textOf(event.chunk), {
        id,
        model,
        ...(event.chunk.usage === null && !includeUsage && { usage: undefined }),
        flinch: started ? undefined : { guard, tokens: [] },
      });
      started = true;
      return [sseEvent(chunk, `${idPrefix}/${offset}`)];
    },
    failed: ({ body }, offset) => [sseEvent({ error: body }, `${idPrefix}/${offset}`)],
  };
}

/** The usage comes always, for the metrics. */
const hasUsageAlone = ({ chunk: { choices, usage } }: UpstreamEvent): boolean =>
  Boolean(usage) && Array.isArray(choices) && choices.length === 0;

/** The same where the upstream sends it whole. */
export const wholeVerbatim = ({ id, model, guard }: VerbatimOptions): Encoding => ({
  ...SILENT,
  event: (event) =>
    event.type === 'upstream.delta'
      ? [withFields(textOf(event.chunk), { id, model, flinch: { guard, tokens: [] } })]
      : [],
});
