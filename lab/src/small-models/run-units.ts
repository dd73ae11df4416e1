import type { ScoreRecord } from '#bench/records/records.js';
import { isTruncated } from '#bench/records/selection.js';
import { peekRecords, readRun, readScores } from '#bench/run/run-folder.js';
import { AGGREGATIONS, aggregate } from '#bench/steps/aggregation.js';
import { UsageError } from '#src/files/errors.js';
import { LENGTH, QUESTIONS, shortened, type UnitSet } from './units.js';

/**
 * Whole answers as units: those of `flinch bench run --suite questions --score all`. As in that run's tables, answers that
 * were cut off do not count.
 * @throws UsageError for another run, or one that is not done
 */
export async function unitsOfRun(folder: string): Promise<UnitSet> {
  const { settings, about, problems } = await readRun(folder);
  const { suite, temperature, measures, score } = settings;
  if (suite !== QUESTIONS || score !== 'all')
    throw new UsageError(`${folder}: is not a run of flinch bench run --suite questions --score all`);
  const { responses, checks } = await peekRecords(folder);
  const scores = new Map<string, ScoreRecord>();
  for await (const one of readScores(folder)) scores.set(one.id, one);
  const units: UnitSet['units'] = [];
  let truncated = 0;
  for (const [group, { id }] of problems.entries()) {
    const [response, check, { tokens } = {}] = [responses.get(id), checks.get(id), scores.get(id)];
    if (response && isTruncated(response)) {
      truncated += 1;
      continue;
    }
    if (!response || !check || !tokens)
      throw new UsageError(`${folder}: the answer to ${id} is not scored; the command of the run continues`);
    const scored = measures.flatMap((measure) => {
      const ofTokens = tokens[measure];
      if (!ofTokens) throw new UsageError(`${folder}: ${measure} does not score tokens`);
      return AGGREGATIONS.map((how) => shortened(aggregate(how, ofTokens)));
    });
    units.push([group, check.correct ? 0 : 1, ...scored, response.tokenIds.length]);
  }
  return {
    task: QUESTIONS,
    model: about.model.name,
    temperature,
    answers: problems.length,
    truncated,
    uncounted: truncated,
    columns: [
      ...measures.flatMap((measure) => AGGREGATIONS.map((how) => [measure, how] as [string, typeof how])),
      [LENGTH, 'own'],
    ],
    units,
  };
}
