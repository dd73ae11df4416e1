import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { mean } from 'simple-statistics';
import { z } from 'zod';
import { Engine } from '#src/engine/engine.js';
import type { Precision } from '#src/engine/precision.js';
import { UsageError } from '#src/files/errors.js';
import { readJsonFile } from '#src/files/json-text.js';
import { scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import { mergedSafetensors } from './merged-safetensors.js';

/** A tiny model with what `transformers` computes with its weights in float64. */
interface Fixture {
  readonly family: string;
  readonly format: string;
  readonly model: string;
  readonly cases: readonly GoldenCase[];
}

interface GoldenCase {
  readonly promptIds: readonly number[];
  readonly responseIds: readonly number[];
  readonly logprobs: readonly number[];
  /** Scores of the offline schedule, at `alpha`; unknown for formats. */
  readonly scores: { readonly alpha: number; readonly values: readonly number[] } | null;
}

/** Largest differences from the golden values, of log-probabilities in nats. */
export interface GoldenRow {
  readonly family: string;
  readonly format: string;
  readonly tokens: number;
  /** Difference in the process that scores, in fp32. */
  readonly scored: number;
  /** Differences in the process that writes, in each precision; in int8 the mean, too. */
  readonly written: Readonly<Record<Precision, number>>;
  readonly writtenMean: number;
  /** Difference of offline scores of `adversarial`, as a share of the answer's largest. */
  readonly adversarial: number | null;
}

const numbers = z.array(z.number());
const familySchema = z.object({
  cases: z.array(
    z.object({ promptIds: numbers, responseIds: numbers, logprob: numbers, alpha: z.number(), adv: numbers }),
  ),
});
const formatSchema = z.object({ ids: numbers, logprobs: numbers });
const ggufSchema = z.object({ models: z.record(z.string(), formatSchema) });
const quantizedSchema = z.record(
  z.string(),
  formatSchema.extend({
    base: z.string(),
    config: z.record(z.string(), z.unknown()),
    digests: z.record(z.string(), z.string()),
  }),
);

const FAMILY = /^tiny-(.*)$/;

/**
 * The fixtures of flinch's tests, one after the other.
 * @param folder `test/fixtures` of a checkout
 * @param temporary for checkpoints that are put together
 */
export async function goldenFixtures(folder: string, temporary: string): Promise<Fixture[]> {
  const names = await readdir(folder).catch(() => []);
  const families = names.filter((name) => FAMILY.test(name)).toSorted();
  if (families.length === 0)
    throw new UsageError(`${folder}: has no fixtures; --fixtures names test/fixtures`);
  const { models } = readJsonFile(join(folder, 'gguf/golden.json'), ggufSchema);
  const quantized = readJsonFile(join(folder, 'quantized/golden.json'), quantizedSchema);
  return [
    ...families.map((name): Fixture => {
      const { cases } = readJsonFile(join(folder, name, 'golden.json'), familySchema);
      return {
        family: familyOf(name),
        format: 'safetensors',
        model: join(folder, name),
        cases: cases.map(({ logprob, alpha, adv, ...ids }) => ({
          ...ids,
          logprobs: logprob,
          scores: { alpha, values: adv },
        })),
      };
    }),
    ...Object.entries(models).map(
      ([name, golden]): Fixture => ({
        family: familyOf(name),
        format: 'GGUF, seven types',
        model: join(folder, `gguf/${name}.gguf`),
        cases: [caseOf(golden)],
      }),
    ),
    ...(await Promise.all(
      Object.entries(quantized).map(
        async ([name, { base, config, digests, ...golden }]): Promise<Fixture> => {
          const model = join(temporary, name);
          await mkdir(model);
          await cp(join(folder, base, 'tokenizer.json'), join(model, 'tokenizer.json'));
          await mergedSafetensors({
            base: join(folder, base),
            without: new Set(Object.keys(digests)),
            to: model,
            added: join(folder, `quantized/${name}.safetensors`),
            settings: config,
          });
          return { family: familyOf(base), format: name, model, cases: [caseOf(golden)] };
        },
      ),
    )),
  ];
}

const familyOf = (name: string): string => FAMILY.exec(name)?.[1] ?? name;

const caseOf = ({ ids, logprobs }: z.output<typeof formatSchema>): GoldenCase => ({
  promptIds: ids.slice(0, 1),
  responseIds: ids.slice(1),
  logprobs,
  scores: null,
});

export async function measureGolden({ family, format, model, cases }: Fixture): Promise<GoldenRow> {
  const fp32 = await Engine.open(model);
  const int8 = await Engine.open(model, { precision: 'int8' });
  const differences: number[] = [];
  const errors = { scored: 0, fp32: 0, int8: 0, adversarial: 0 };
  const note = (key: keyof typeof errors, value: number): void => {
    errors[key] = Math.max(errors[key], value);
  };
  try {
    for (const { promptIds, responseIds, logprobs, scores } of cases) {
      const scoring = {
        methods: ['adversarial'] as const,
        schedule: { kind: 'offline' } as const,
        alpha: scores?.alpha ?? 1e-3,
      };
      const { tokens } = await scoreResponse(fp32, promptIds, responseIds, scoring);
      const scored = tokens.map(({ logprob }) => logprob);
      note('scored', largestDifference(scored, logprobs));
      note('fp32', largestDifference(await writtenLogprobs(fp32, promptIds, responseIds), logprobs));
      const rounded = await writtenLogprobs(int8, promptIds, responseIds);
      note('int8', largestDifference(rounded, logprobs));
      differences.push(...rounded.map((logprob, i) => Math.abs(logprob - logprobs[i]!)));
      if (!scores) continue;
      const falls = tokens.map((token) => token.scores.adversarial ?? Number.NaN);
      const largest = Math.max(...scores.values.map(Math.abs));
      note('adversarial', largestDifference(falls, scores.values) / largest);
    }
  } finally {
    await Promise.all([fp32.close(), int8.close()]);
  }
  return {
    family,
    format,
    scored: errors.scored,
    written: { fp32: errors.fp32, int8: errors.int8 },
    writtenMean: mean(differences),
    tokens: cases.reduce((sum, { responseIds }) => sum + responseIds.length, 0),
    adversarial: cases.some(({ scores }) => scores) ? errors.adversarial : null,
  };
}

/** Log-probabilities of given tokens in the process that writes. */
async function writtenLogprobs(
  engine: Engine,
  promptIds: readonly number[],
  responseIds: readonly number[],
): Promise<number[]> {
  const sampling = { temperature: 0, topK: 0, topP: 1, seed: 0 };
  const generation = await engine.generate({
    promptIds,
    maxTokens: responseIds.length + 1,
    endIds: [],
    stop: [],
    topLogprobs: 0,
    forks: 1,
    sampling,
  });
  await generation.next(); // the prompt is read
  const given = await generation.fork({ keep: 0, insert: responseIds, sampling });
  const logprobs: number[] = [];
  while (logprobs.length < responseIds.length) {
    const event = await given.next();
    if (event.type === 'end') throw new Error(`${engine.checkpoint.name}: ended early`);
    if (event.logprob !== undefined) logprobs.push(event.logprob);
  }
  given.cancel();
  generation.cancel();
  return logprobs;
}

/** NaN where one is. */
const largestDifference = (found: readonly number[], expected: readonly number[]): number =>
  Math.max(...expected.map((value, i) => Math.abs((found[i] ?? Number.NaN) - value)));
