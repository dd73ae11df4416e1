import { median } from 'simple-statistics';
import { table } from '#bench/markdown-table.js';
import { measureLabel } from '#bench/report/measure-label.js';
import { casesOfRun } from '#bench/run/evaluate-run.js';
import { readRun, readScores } from '#bench/run/run-folder.js';
import { formatEstimate } from '#bench/statistics/estimate.js';
import { wilson } from '#bench/statistics/wilson.js';

/** Scores of the tokens of a step by one measure; −∞ for those that the schedule skipped. */
type StepScores = readonly number[];

export interface LabelledAnswers {
  /** Steps of right answers. */
  readonly ordinary: readonly StepScores[];
  /** The first wrong step of each wrong answer. */
  readonly wrong: readonly StepScores[];
}

/** Tokens of each found step up to where it was found, that token included. */
export interface Delays {
  /** By its first token above a threshold. */
  readonly spikes: readonly number[];
  /** By its sum, which is known at its end. */
  readonly flags: readonly number[];
}

/** Each threshold is the lowest that no more than this share of the ordinary steps pass. */
export function delaysOf({ ordinary, wrong }: LabelledAnswers, rate: number): Delays {
  const threshold = (of: (step: StepScores) => number): number =>
    ordinary.map(of).sort((a, b) => b - a)[Math.floor(rate * ordinary.length)] ?? Number.POSITIVE_INFINITY;
  const [token, step] = [threshold((scores) => Math.max(...scores)), threshold(sumOf)];
  return {
    spikes: wrong.flatMap((scores) => {
      const place = scores.findIndex((score) => score > token);
      return place < 0 ? [] : [place + 1];
    }),
    flags: wrong.flatMap((scores) => (sumOf(scores) > step ? [scores.length] : [])),
  };
}

const sumOf = (scores: StepScores): number =>
  scores.reduce((sum, score) => (score === Number.NEGATIVE_INFINITY ? sum : sum + score), 0);

/** A control: the number of a token in its step, so that a step is found when it grows too long. */
const LENGTH = 'length';

/**
 * How many of the first wrong steps of a run are found by a spike and by a flag, and after how many of their tokens.
 * @param rate share of the steps of right answers that may be found, by each of the two
 */
export async function delayTable(folder: string, rate: number): Promise<string> {
  const { settings } = await readRun(folder);
  const cases = new Map((await casesOfRun(folder)).map((one) => [one.id, one]));
  const answers = new Map<string, { ordinary: StepScores[]; wrong: StepScores[] }>();
  for await (const { id, steps, tokens } of readScores(folder)) {
    const known = cases.get(id);
    if (!known || (known.wrong && known.firstWrong === null)) continue;
    const lengths = steps.flatMap(([from, to]) => range(to - from));
    const all: Readonly<Record<string, readonly (number | null)[]>> = { ...tokens, [LENGTH]: lengths };
    for (const measure of [...settings.measures, LENGTH]) {
      const scores = all[measure];
      if (!scores) continue;
      const own = answers.get(measure) ?? { ordinary: [], wrong: [] };
      answers.set(measure, own);
      const ofSteps = steps.map(([from, to]) =>
        scores.slice(from, to).map((score) => score ?? Number.NEGATIVE_INFINITY),
      );
      if (known.firstWrong === null) own.ordinary.push(...ofSteps);
      else own.wrong.push(ofSteps[known.firstWrong]!);
    }
  }
  const rows = [...answers].map(([measure, labelled]) => {
    const { spikes, flags } = delaysOf(labelled, rate);
    const share = (found: readonly number[]) => formatEstimate(wilson(found.length, labelled.wrong.length));
    const after = (found: readonly number[]) => (found.length === 0 ? '' : median([...found]).toFixed(0));
    const isLength = measure === LENGTH;
    return [
      ...[isLength ? 'longer than a number of tokens' : measureLabel(measure), share(spikes), after(spikes)],
      ...(isLength ? ['', ''] : [share(flags), after(flags)]),
    ];
  });
  return table(['measure', 'found by a spike', 'after tokens', 'found by a flag', 'after tokens'], rows);
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
