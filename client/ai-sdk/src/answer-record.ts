import { CHUNK_FLINCH, COMPLETION_EVENT, GENERATION_EVENTS, WHOLE_FLINCH } from 'flinch-client/protocol';
import * as z from 'zod/mini';
import { type FlinchDataPart, stepPart, verdictPart } from './data-parts.js';
import type { FlinchMetadata, FlinchToken, NoVerdict } from './metadata.js';

/** A newer server may send more. */
const unknownEvent = z.object({
  type: z.pipe(
    z.string().check(z.refine((type) => !Object.hasOwn(GENERATION_EVENTS, type))),
    z.transform(() => 'unknown' as const),
  ),
});

const events = z.optional(z.array(z.union([COMPLETION_EVENT, unknownEvent])));
const whole = z.object({ flinch: z.optional(WHOLE_FLINCH) });
/** Events of OpenAI's responses have guard and verdict in their `response`. */
const chunk = z.object({
  flinch: z.optional(z.extend(CHUNK_FLINCH, { events })),
  response: z.optional(whole),
});

/** What a server says of one answer beside its text, put together. */
export class AnswerRecord {
  readonly #answer = crypto.randomUUID();
  readonly #known: Omit<FlinchMetadata, 'verdict'> = {
    guard: null,
    tokens: [],
    steps: [],
    flagged: [],
    rollbacks: [],
    mismatches: [],
  };
  #verdict: FlinchMetadata['verdict'] | null = null;
  #readable = true;

  /** @returns what is settled by a chunk of the stream */
  addChunk(raw: unknown): FlinchDataPart[] {
    const { flinch, response } = this.#read(chunk, raw) ?? {};
    const { guard, verdict } = { ...response?.flinch, ...flinch };
    this.#known.guard = guard ?? this.#known.guard;
    this.#verdict = verdict ?? this.#verdict;
    for (const token of flinch?.tokens ?? []) this.#addToken(token);
    return (flinch?.events ?? []).flatMap((event) => this.#addEvent(event));
  }

  /** @returns its steps */
  addWhole(raw: unknown): FlinchDataPart[] {
    const { verdict = null, ...known } = this.#read(whole, raw)?.flinch ?? {};
    Object.assign(this.#known, known);
    this.#verdict = verdict;
    const settled = [...this.#known.steps, ...this.#known.flagged.filter(endsAnswer)];
    return settled.map((step) => stepPart(this.#answer, step, this.#known));
  }

  get metadata(): FlinchMetadata {
    return { ...this.#known, verdict: this.#verdictNow };
  }

  get verdictPart(): FlinchDataPart {
    return verdictPart(this.#answer, this.#verdictNow);
  }

  /** A token comes first with its text, and again with its scores. */
  #addToken(token: FlinchToken): void {
    const { tokens } = this.#known;
    if (token.index > tokens.length) this.#readable = false;
    else tokens[token.index] = token;
  }

  #addEvent(event: z.output<typeof COMPLETION_EVENT> | z.output<typeof unknownEvent>): FlinchDataPart[] {
    switch (event.type) {
      case 'step.done':
        this.#known.steps.push(event);
        return [stepPart(this.#answer, event, this.#known)];
      case 'step.flagged':
        this.#known.flagged.push(event);
        return endsAnswer(event) ? [stepPart(this.#answer, event, this.#known)] : [];
      case 'rollback.done':
        this.#known.rollbacks.push(event);
        return [];
      case 'scorer.mismatch':
        this.#known.mismatches.push(event);
        return [];
      default:
        return [];
    }
  }

  #read<T>(schema: z.ZodMiniType<T>, raw: unknown): T | null {
    const { success, data } = schema.safeParse(raw);
    // A chunk that is no object is the provider's to complain of.
    this.#readable &&= success || typeof raw !== 'object';
    return data ?? null;
  }

  /** What could not be read may have been a flag: then there is no clean verdict. */
  get #verdictNow(): FlinchMetadata['verdict'] {
    if (!this.#readable) return none('protocol_error');
    if (this.#verdict) return this.#verdict;
    const { guard } = this.#known;
    if (guard === null) return none('no_flinch');
    return none(guard.enabled ? 'no_verdict' : 'guard_off');
  }
}

/** Nothing more is said of a step that the guard stopped at. If it was held, it is not in the text. */
const endsAnswer = ({ action, text }: FlinchMetadata['flagged'][number]): boolean =>
  action === 'stop' && text !== '';

const none = (reason: NoVerdict['reason']): NoVerdict => ({ flagged: null, risk: null, reason });
