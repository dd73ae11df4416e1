import type { CheckRecord } from '#bench/records/records.js';
import { SCORING, settingsSchema } from '#bench/records/run-settings.js';
import { evaluateRun } from '#bench/run/evaluate-run.js';
import { stepsOf } from '#bench/run/run-context.js';
import { claimRun, makeFolder, openRecords } from '#bench/run/run-folder.js';
import { problemOf, responseOf } from './bench-records.js';

export interface MadeUpAnswer {
  readonly id: string;
  readonly question?: string;
  readonly reference?: string;
  /** Its tokens. */
  readonly texts: string[];
  readonly correct: boolean | null;
  readonly by?: CheckRecord['by'];
  /** NLL of each token. */
  readonly nll: number[];
}

/** A run's folder as `flinch bench run` leaves it, with these answers. */
export async function makeRun(folder: string, answers: readonly MadeUpAnswer[]): Promise<string> {
  makeFolder(folder);
  const settings = settingsSchema.parse({
    ...{ scoring: SCORING, suite: 'own', subsets: null, limit: null, seed: 1, problems: 'p', model: 'm' },
    task: { name: 'Made up', check: 'contains', prompt: null, columns: {} },
    ...{ device: 'cpu', system: null, temperature: 0.2, topP: 1, maxTokens: 64, measures: ['nll'] },
    ...{ encoders: {}, samples: 0, sampleTemperature: 0.7, score: 'all', perSubset: null },
    ...{ check: 'rules', judge: null, bootstrap: { resamples: 200, seed: 1 } },
  });
  const about = {
    model: { name: 'made-up', parameters: 1, embeddingRms: 1 },
    command: 'flinch bench run',
    machine: { cpu: 'none', cores: 1, node: '20' },
  };
  const problems = answers.map(({ id, question = id, reference = 'yes' }) =>
    problemOf(id, {
      question,
      reference,
      row: { answers: [reference], choices: null, context: null, messages: null, right: null },
    }),
  );
  claimRun(folder, settings, about, problems);
  const records = await openRecords(folder);
  for (const [i, { id, texts, correct, by = 'rules', nll }] of answers.entries()) {
    const response = records.responses.add(responseOf(id, texts));
    records.checks.add({ id, extracted: null, correct, by });
    const steps = stepsOf(problems[i]!, response).map(({ tokens }) => [tokens.start, tokens.end]);
    records.scored.add({ ...{ id, steps, stepScores: {}, response: {} }, tokens: { nll } });
  }
  await evaluateRun(folder, records);
  return folder;
}
