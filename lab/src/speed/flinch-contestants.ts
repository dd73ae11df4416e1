import { filter, lastValueFrom, take, tap } from 'rxjs';
import { Engine } from '#src/engine/engine.js';
import type { GenerateRequest } from '#src/engine/generation.js';
import type { Precision } from '#src/engine/precision.js';
import { scoredGeneration } from '#src/stream/scored-generation.js';
import { scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import { DEFAULT_SCORING, type Scoring } from '#src/uncertainty/settings.js';
import { type Contestant, checkCount, memoryOf, type Work } from './contestant.js';
import { SHIPPED_SCORING } from './streams.js';

interface Flinch {
  /** Checkpoint folder or GGUF file. */
  readonly model: string;
  /** The begin of its names. */
  readonly name: string;
  readonly most: { readonly context: number; readonly streams: number };
  readonly precision?: Precision;
  /** Name of the contestant that it is compared with. */
  readonly reference?: string;
}

/** Writing alone; writing with the scores that a guard has by default; and with Adv. Pert. */
export async function openFlinch({ model, name, most, precision, reference }: Flinch): Promise<Contestant[]> {
  const options = { contextLength: most.context, ...(precision && { precision }) };
  const writer = await Engine.open(model, options);
  const shipped = await Engine.open(model, options);
  const stream = (
    engine: Engine,
    label: string,
    scoring: Scoring | null,
    counted: 'token.delta' | 'score.delta',
  ): Contestant => ({
    ...contestant(`${name}, ${label}`, engine, async ({ prompts, tokens, first }) => {
      const wanted = first ? 1 : tokens;
      const answers = prompts.map((ids) =>
        countEvents(counted, scoredGeneration(engine, request(ids, tokens), scoring), wanted),
      );
      checkCount(name, await Promise.all(answers), wanted);
    }),
    does: ({ prompts }) => prompts.length <= most.streams && prompts[0]!.length < most.context,
    ...(reference && { reference }),
  });
  return [
    stream(writer, 'no scores', null, 'token.delta'),
    stream(shipped, 'scores as shipped', SHIPPED_SCORING, 'score.delta'),
    stream(shipped, 'with Adv. Pert.', DEFAULT_SCORING, 'score.delta'),
  ];
}

export const OFFLINE = 'flinch, offline scores of a text';

/** Scoring a finished text. */
export async function openOffline(model: string, context: number): Promise<Contestant> {
  const engine = await Engine.open(model, { contextLength: context });
  const scoring = { ...DEFAULT_SCORING, schedule: { kind: 'offline' } } as const;
  return {
    ...contestant(OFFLINE, engine, async ({ prompts, tokens }) => {
      const [ids = []] = prompts;
      const { tokens: scored } = await scoreResponse(engine, ids, givenText(ids, tokens), scoring);
      checkCount(OFFLINE, [scored.length], tokens);
    }),
    does: isOffline,
  };
}

/** A text that is scored after a prompt. */
export const givenText = (ids: readonly number[], tokens: number): number[] =>
  Array.from({ length: tokens }, (_, i) => ids[i % ids.length]! + 1);

export const isOffline = ({ prompts, first }: Work): boolean => prompts.length === 1 && !first;

const contestant = (
  name: string,
  engine: Engine,
  run: (work: Work) => Promise<void>,
): Omit<Contestant, 'does'> => ({
  name,
  run,
  memory: () => {
    const { decode, score } = engine.status();
    return memoryOf([decode, score].flatMap(({ pid }) => pid ?? []));
  },
  turn: () => {}, // its processes do nothing unless asked
  close: () => engine.close(),
  kill: () => {}, // its processes end with this one
});

const request = (promptIds: readonly number[], maxTokens: number): GenerateRequest => ({
  promptIds,
  maxTokens,
  endIds: [],
  stop: [],
  topLogprobs: 0,
  sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
});

/** @param wanted leaves after so many */
async function countEvents(
  counted: string,
  events: ReturnType<typeof scoredGeneration>,
  wanted: number,
): Promise<number> {
  let count = 0;
  await lastValueFrom(
    events.pipe(
      filter(({ type }) => type === counted),
      tap(() => (count += 1)),
      take(wanted),
    ),
    { defaultValue: null },
  );
  return count;
}
