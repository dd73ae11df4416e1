import { mean, sampleRankCorrelation } from 'simple-statistics';
import { describe, expect, it, onTestFinished } from 'vitest';
import { promptOf, stopOf } from '#bench/run/problem-prompt.js';
import { areas } from '#bench/statistics/areas.js';
import { rank } from '#bench/statistics/ranking.js';
import { questionsSuite } from '#bench/suites/questions.js';
import type { BenchProblem, Suite } from '#bench/suites/suite.js';
import { tasksSuite } from '#bench/suites/tasks.js';
import { checkpointOf, ggufOf } from '#lab/peers/peers-folder.js';
import { Engine, reasonerPath, type Scoring, scoreResponse } from '#src/index.js';
import { modelWithOutliers } from '../support/changed-model.js';
import { useFolder } from '../support/cli.js';
import { needs } from '../support/peers.js';

const folder = useFolder();

const NLL: Scoring = { methods: ['nll'], alpha: 1e-4, schedule: { kind: 'offline' } };

interface Subject {
  readonly name: string;
  readonly model: () => string;
  /** Paths that have to be there. */
  readonly needed: readonly string[];
  /** The least rank correlation of tokens. */
  readonly least: number;
  readonly suite: Suite;
  readonly maxTokens: number;
  readonly temperature: number;
}

const QUESTIONS = { suite: questionsSuite, maxTokens: 40, temperature: 0 };
/** Greedily, too few are wrong. */
const TASKS = { suite: tasksSuite, maxTokens: 200, temperature: 1 };

const SUBJECTS: readonly Subject[] = [
  {
    name: 'SmolLM2-135M-Instruct',
    model: () => checkpointOf('smollm2'),
    needed: [checkpointOf('smollm2')],
    least: 0.99,
    ...QUESTIONS,
  },
  {
    name: 'Gemma 3 270M',
    model: () => ggufOf('gemma3'),
    needed: [ggufOf('gemma3')],
    least: 0.99,
    ...QUESTIONS,
  },
  { name: 'the embedded model', model: () => reasonerPath, needed: [], least: 0.998, ...TASKS },
  {
    name: 'the embedded model with outliers',
    model: () => modelWithOutliers(reasonerPath, folder.path('outliers')),
    needed: [],
    least: 0.98,
    ...TASKS,
  },
];

/** The model's own words. */
async function written(
  engine: Engine,
  problem: BenchProblem,
  { suite, maxTokens, temperature }: Subject,
  seed: number,
) {
  const { checkpoint } = engine;
  const promptIds = promptOf(checkpoint, suite, problem, null);
  const generation = await engine.generate({
    promptIds,
    maxTokens,
    endIds: checkpoint.eosTokenIds,
    topLogprobs: 0,
    stop: stopOf(checkpoint, suite),
    sampling: { temperature, topK: 0, topP: 1, seed },
  });
  const [ids, nll, texts]: [number[], number[], string[]] = [[], [], []];
  for (;;) {
    const item = await generation.next();
    if (item.type === 'end') return { promptIds, ids, nll, text: texts.join('') };
    ids.push(item.id);
    nll.push(-item.logprob);
    texts.push(item.text);
  }
}

describe('probabilities in int8', () => {
  for (const subject of SUBJECTS) {
    const { name, model, needed, least, suite } = subject;
    const { missing, reason } = needs(...needed);
    it.skipIf(missing)(`rank tokens and answers of ${name} as those in fp32${reason}`, async () => {
      const engine = await Engine.open(model(), { precision: 'int8' });
      onTestFinished(() => engine.close());
      const answers: { wrong: boolean; int8: number[]; fp32: number[] }[] = [];
      // The seed and number are those of problems that are made.
      const problems = await suite.load({ folder: null, subsets: null, seed: 9_000_000, count: 2500 });
      for (const [i, problem] of problems.entries()) {
        const { promptIds, ids, nll, text } = await written(engine, problem, subject, i);
        const { tokens } = await scoreResponse(engine, promptIds, ids, NLL);
        const fp32 = tokens.map(({ scores }) => scores.nll!);
        answers.push({ wrong: !suite.check(problem, text)!.correct, int8: nll, fp32 });
      }
      const all = (precision: 'int8' | 'fp32') => answers.flatMap((one) => one[precision]);
      const correlation = sampleRankCorrelation(all('int8'), all('fp32'));
      const wrong = answers.map((one) => one.wrong);
      const areasOf = (precision: 'int8' | 'fp32') =>
        areas(
          rank(
            answers.map((one) => mean(one[precision])),
            wrong,
          ),
        );
      const [int8, fp32] = [areasOf('int8'), areasOf('fp32')];
      const both = (area: 'auroc' | 'averagePrecision') =>
        `${int8[area].toFixed(4)} in int8, ${fp32[area].toFixed(4)} in fp32`;
      console.log(
        `${name}: ${all('int8').length} tokens, rank correlation ${correlation.toFixed(4)}; ${wrong.filter(Boolean).length} of ${wrong.length} answers wrong, AUROC ${both('auroc')}, average precision ${both('averagePrecision')}`,
      );
      expect(correlation).toBeGreaterThan(least);
      expect(Math.abs(int8.auroc - fp32.auroc)).toBeLessThan(0.01);
      expect(Math.abs(int8.averagePrecision - fp32.averagePrecision)).toBeLessThan(0.01);
    });
  }
});
