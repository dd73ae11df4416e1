import * as z from 'zod/mini';
import { CHUNK_FLINCH, COMPLETION_EVENT, WHOLE_FLINCH } from './flinch-field.js';
import type { FlinchEvent, FlinchMetadata, FlinchToken, NoVerdict } from './flinch-metadata.js';
import { GENERATION_EVENTS } from './schemas.js';

/** A newer server may send more. */
const unknownEvent = z.pipe(
  z.object({ type: z.string().check(z.refine((type) => !Object.hasOwn(GENERATION_EVENTS, type))) }),
  z.transform(() => null),
);

const whole = z.object({ flinch: z.optional(WHOLE_FLINCH) });
/** Events of OpenAI's responses have guard and verdict in their `response`. */
const chunk = z.object({
  flinch: z.optional(
    z.extend(CHUNK_FLINCH, { events: z.optional(z.array(z.union([COMPLETION_EVENT, unknownEvent]))) }),
  ),
  response: z.optional(whole),
});

/** Tokens and events of a chunk, in order. */
export interface ChunkFindings {
  /** A token comes first with its text, and again with its scores. */
  readonly tokens: readonly FlinchToken[];
  readonly events: readonly FlinchEvent[];
}

/**
 * Metadata of one answer (the field `flinch` of a completion or of OpenAI's response), put together from the chunks of
 * a stream, or from a whole answer. Data that cannot be read never gives a clean verdict.
 *
 * @example
 * const record = new CompletionRecord();
 * for await (const chunk of stream) record.addChunk(chunk);
 * if (record.metadata.verdict.flagged !== false) await review(text);
 */
export class CompletionRecord {
  readonly #known: Omit<FlinchMetadata, 'verdict'> = {
    guard: null,
    tokens: [],
    steps: [],
    flagged: [],
    rollbacks: [],
    mismatches: [],
    escalations: [],
    votes: [],
  };
  #verdict: FlinchMetadata['verdict'] | null = null;
  #readable = true;

  /** @returns tokens and events of the chunk, without events that only a newer client knows */
  addChunk(raw: unknown): ChunkFindings {
    const { flinch, response } = this.#read(chunk, raw) ?? {};
    const { guard, verdict } = { ...response?.flinch, ...flinch };
    this.#known.guard = guard ?? this.#known.guard;
    this.#verdict = verdict ?? this.#verdict;
    const { tokens = [], escalations = [], votes = [] } = flinch ?? {};
    const events = (flinch?.events ?? []).filter((event) => event !== null);
    for (const token of tokens) this.#addToken(token);
    for (const event of events) this.#addEvent(event);
    this.#known.escalations.push(...escalations);
    this.#known.votes.push(...votes);
    return { tokens, events };
  }

  /** Adds a whole answer, instead of chunks. */
  addWhole(raw: unknown): void {
    const { verdict = null, ...known } = this.#read(whole, raw)?.flinch ?? {};
    Object.assign(this.#known, known);
    this.#verdict = verdict;
  }

  get metadata(): FlinchMetadata {
    return { ...this.#known, verdict: this.#verdictNow };
  }

  #addToken(token: FlinchToken): void {
    const { tokens } = this.#known;
    if (token.index > tokens.length) this.#readable = false;
    else tokens[token.index] = token;
  }

  #addEvent(event: FlinchEvent): void {
    const { steps, flagged, rollbacks, mismatches } = this.#known;
    if (event.type === 'step.done') steps.push(event);
    if (event.type === 'step.flagged') flagged.push(event);
    if (event.type === 'rollback.done') rollbacks.push(event);
    if (event.type === 'scorer.mismatch') mismatches.push(event);
  }

  #read<T>(schema: z.ZodMiniType<T>, raw: unknown): T | null {
    const { success, data } = schema.safeParse(raw);
    // A chunk that is no object is the provider's to complain of.
    this.#readable &&= success || typeof raw !== 'object';
    return data ?? null;
  }

  /** Current verdict. Data that could not be read may have been a flag: then there is no clean verdict. */
  get #verdictNow(): FlinchMetadata['verdict'] {
    if (!this.#readable) return none('protocol_error');
    if (this.#verdict) return this.#verdict;
    const { guard } = this.#known;
    if (guard === null) return none('no_flinch');
    return none(guard.enabled ? 'no_verdict' : 'guard_off');
  }
}

const none = (reason: NoVerdict['reason']): NoVerdict => ({ flagged: null, risk: null, reason });
