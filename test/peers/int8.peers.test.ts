import { mean, sampleRankCorrelation } from 'simple-statistics';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkpointOf, ggufOf } from '#bench/peers/folder.js';
import { promptOf, stopOf } from '#bench/run/prompt.js';
import { areas } from '#bench/statistics/areas.js';
import { rank } from '#bench/statistics/ranking.js';
import { questionsSuite } from '#bench/suites/questions.js';
import type { BenchProblem } from '#bench/suites/suite.js';
import { Engine, type Scoring, scoreResponse } from '#src/index.js';
import { needs } from '../support/peers.js';

const NLL: Scoring = { methods: ['nll'], alpha: 1e-4, schedule: { kind: 'offline' } };

const ALL = { folder: null, subsets: null, seed: 1, count: 1 };

/** The model's own words, greedily. */
async function written(engine: Engine, problem: BenchProblem) {
  const { checkpoint } = engine;
  const promptIds = promptOf(checkpoint, questionsSuite, problem, null);
  const generation = await engine.generate({
    ...{ promptIds, maxTokens: 40, endIds: checkpoint.eosTokenIds, topLogprobs: 0 },
    stop: stopOf(checkpoint, questionsSuite),
    sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
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

describe('probabilities of real weights in int8', () => {
  for (const [model, path] of [
    ['SmolLM2-135M-Instruct', checkpointOf('smollm2')],
    ['Gemma 3 270M', ggufOf('gemma3')],
  ] as const) {
    const { missing, reason } = needs(path);
    it.skipIf(missing)(`rank tokens and answers of ${model} as those in fp32${reason}`, async () => {
      const engine = await Engine.open(path, { precision: 'int8' });
      onTestFinished(() => engine.close());
      const answers: { wrong: boolean; int8: number[]; fp32: number[] }[] = [];
      for (const problem of await questionsSuite.load(ALL)) {
        const { promptIds, ids, nll, text } = await written(engine, problem);
        const { tokens } = await scoreResponse(engine, promptIds, ids, NLL);
        const fp32 = tokens.map(({ scores }) => scores.nll!);
        answers.push({ wrong: !questionsSuite.check(problem, text)!.correct, int8: nll, fp32 });
      }
      const all = (precision: 'int8' | 'fp32') => answers.flatMap((one) => one[precision]);
      const correlation = sampleRankCorrelation(all('int8'), all('fp32'));
      const wrong = answers.map((one) => one.wrong);
      const auroc = (precision: 'int8' | 'fp32') => {
        const means = answers.map((one) => mean(one[precision]));
        return areas(rank(means, wrong)).auroc;
      };
      const [int8, fp32] = [auroc('int8'), auroc('fp32')];
      console.log(
        `${model}: ${all('int8').length} tokens, rank correlation ${correlation.toFixed(4)}; ${wrong.filter(Boolean).length} of ${wrong.length} answers wrong, AUROC ${int8.toFixed(4)} in int8, ${fp32.toFixed(4)} in fp32`,
      );
      expect(correlation).toBeGreaterThan(0.98);
      expect(Math.abs(int8 - fp32)).toBeLessThan(0.01);
    });
  }
});
