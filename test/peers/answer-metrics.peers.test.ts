import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { mersenne } from 'pure-rand/generator/mersenne';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { areas } from '#bench/statistics/areas.js';
import { rank } from '#bench/statistics/ranking.js';
import { keptRight, predictionRejectionRatio } from '#bench/statistics/rejection.js';
import { pythonOf } from '#lab/peers/peers-folder.js';
import { needs } from '../support/peers.js';

// Its environment has scikit-learn, too.
const PYTHON = pythonOf('polygraph');
const { missing, reason } = needs(PYTHON);

const ratio = z.object({ own: z.number(), expected: z.number(), ofOrders: z.number() });
const metrics = z.object({ auroc: z.number(), averagePrecision: z.number(), prr: ratio });

interface Case {
  readonly scores: readonly number[];
  readonly wrong: readonly boolean[];
}

/** Answers of which some are wrong, and scores that tell it more or less well. */
function madeUp(seed: number, n: number, share: number, levels: number | null): Case {
  const random = mersenne(seed);
  const uniform = (): number => (random.next() >>> 0) / 2 ** 32;
  const wrong = Array.from({ length: n }, (_, i) => i < 1 || (i > 1 && uniform() < share));
  const scores = wrong.map((is) => uniform() + (is ? 0.4 : 0));
  return { wrong, scores: levels === null ? scores : scores.map((score) => Math.floor(levels * score)) };
}

const CASES = [
  ...[20, 75, 150, 401].map((n, i) => madeUp(i + 1, n, 0.3, null)),
  ...[madeUp(5, 60, 0.05, null), madeUp(6, 60, 0.9, null)],
  ...[madeUp(7, 80, 0.3, 4), madeUp(8, 41, 0.5, 2)],
];

function byPeers(cases: readonly Case[]): z.infer<typeof metrics>[] {
  const script = fileURLToPath(new URL('answer_metrics.py', import.meta.url));
  const output = execFileSync(PYTHON, [script], { input: JSON.stringify(cases), encoding: 'utf8' });
  return z.array(metrics).parse(JSON.parse(output));
}

test.skipIf(missing)(
  `answers have the AUROC and AP of scikit-learn, and the PRR of LM-Polygraph${reason}`,
  () => {
    for (const [i, theirs] of byPeers(CASES).entries()) {
      const { scores, wrong } = CASES[i]!;
      const ranking = rank(scores, wrong);
      const { auroc, averagePrecision } = areas(ranking);
      expect(auroc).toBeCloseTo(theirs.auroc, 12);
      expect(averagePrecision).toBeCloseTo(theirs.averagePrecision, 12);
      const kept = keptRight(ranking);
      const tied = new Set(scores).size < scores.length;
      const ours = predictionRejectionRatio(kept);
      // Without ties there is one order of the answers; with them it is the mean of 2000, whose error is below 0.01.
      if (tied) expect(Math.abs(ours - theirs.prr.ofOrders)).toBeLessThan(0.01);
      else expect(ours).toBeCloseTo(theirs.prr.expected, 9);
      // Its random rejection is the mean of 1000 draws: for the smallest case an error of 0.01 in a ratio is usual.
      if (!tied) expect(Math.abs(ours - theirs.prr.own)).toBeLessThan(0.05);
    }
  },
);
