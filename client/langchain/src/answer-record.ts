import { CHUNK_FLINCH, COMPLETION_EVENT, WHOLE_FLINCH } from 'flinch-client/protocol';
import * as z from 'zod/mini';

type WholeFlinch = z.output<typeof WHOLE_FLINCH>;
export type FlinchToken = WholeFlinch['tokens'][number];
export type FlinchEvent = z.output<typeof COMPLETION_EVENT>;

/** What flinch says of an answer: `response_metadata.flinch`. */
export interface FlinchMetadata {
  /** `null` if none came: the guard is off, or the server is not flinch. That is not a clean verdict. */
  readonly verdict: NonNullable<WholeFlinch['verdict']> | null;
  /** The settings in force; `null` if the server is not flinch. */
  readonly guard: WholeFlinch['guard'] | null;
  readonly tokens: readonly FlinchToken[];
  readonly steps: NonNullable<WholeFlinch['steps']>;
  readonly flagged: NonNullable<WholeFlinch['flagged']>;
  readonly rollbacks: NonNullable<WholeFlinch['rollbacks']>;
  readonly mismatches: NonNullable<WholeFlinch['mismatches']>;
}

type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

const whole = z.looseObject({ flinch: z.optional(WHOLE_FLINCH) });
const chunk = z.looseObject({
  flinch: z.optional(z.extend(CHUNK_FLINCH, { events: z.optional(z.array(z.unknown())) })),
});

/** Of a completion. */
export const readWhole = (completion: unknown): Optional<WholeFlinch> =>
  z.parse(whole, completion).flinch ?? {};

/** Of a chunk, if it says something. A newer server may send events that are not known here. */
export function readChunk(value: unknown) {
  const { flinch } = z.parse(chunk, value);
  if (!flinch) return null;
  const events = (flinch.events ?? []).flatMap((event) => z.safeParse(COMPLETION_EVENT, event).data ?? []);
  return { ...flinch, events };
}

export const metadataOf = (flinch: Optional<WholeFlinch>): FlinchMetadata => ({
  verdict: flinch.verdict ?? null,
  guard: flinch.guard ?? null,
  tokens: flinch.tokens ?? [],
  steps: flinch.steps ?? [],
  flagged: flinch.flagged ?? [],
  rollbacks: flinch.rollbacks ?? [],
  mismatches: flinch.mismatches ?? [],
});

/** What a stream has told so far. */
export class AnswerRecord {
  #known: Optional<WholeFlinch> = {};
  readonly #tokens: FlinchToken[] = [];
  readonly #events: FlinchEvent[] = [];

  get metadata(): FlinchMetadata {
    const of = <Type extends FlinchEvent['type']>(type: Type) =>
      this.#events.filter((event): event is Extract<FlinchEvent, { type: Type }> => event.type === type);
    return metadataOf({
      ...this.#known,
      tokens: this.#tokens,
      steps: of('step.done'),
      flagged: of('step.flagged'),
      rollbacks: of('rollback.done'),
      mismatches: of('scorer.mismatch'),
    });
  }

  /** A token comes with its text, and again with its scores. */
  add({ guard, verdict, tokens, events }: NonNullable<ReturnType<typeof readChunk>>): void {
    this.#known = { guard: guard ?? this.#known.guard, verdict: verdict ?? this.#known.verdict };
    for (const token of tokens) this.#tokens[token.index] = token;
    this.#events.push(...events);
  }
}
