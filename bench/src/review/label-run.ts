import { remark, UsageError } from 'flinch/internals';
import type { LocatedRecord } from '../records/records.js';
import { evaluateRun } from '../run/evaluate-run.js';
import { textOf } from '../run/run-context.js';
import { openRecords, type RunRecords, readRun } from '../run/run-folder.js';
import { lockFolder } from '../run/run-lock.js';
import { type GivenLabel, mend, readLabels } from './given-labels.js';

/**
 * Keeps the labels of a file in a run, and evaluates it anew: from then on they hold for all commands.
 * @throws UsageError for a file that cannot be read, or has no label of this run
 */
export async function labelRun(folder: string, file: string): Promise<void> {
  const labels = await readLabels(file);
  await readRun(folder);
  const lost = new AbortController();
  const release = await lockFolder(folder, (error) => lost.abort(error), '--labels');
  try {
    const records = await openRecords(folder);
    const response = (id: string): string | null => {
      const found = records.responses.get(id);
      return found ? textOf(found) : null;
    };
    const { checks, unknown, others } = mend(labels, records.checks, response);
    warn(unknown, `not of an answer of ${folder}`);
    warn(others, 'of another answer to the same question');
    if (unknown.length + others.length === labels.length)
      throw new UsageError(`--labels: ${file}: has no label of an answer of ${folder}`);
    for (const check of checks) {
      lost.signal.throwIfAborted();
      records.checks.add(check);
      const place = withdrawn(check.id, check.correct, records);
      if (place) records.located.add(place);
    }
    await evaluateRun(folder, records);
  } finally {
    await release();
  }
}

/** The first wrong step that was found because the answer was called wrong; labels of steps stay. */
function withdrawn(id: string, correct: boolean | null, { located }: RunRecords): LocatedRecord | null {
  const place = located.get(id);
  if (correct === false || !place?.span || place.by === 'labels') return null;
  return { id, span: null, by: place.by, rejected: 'none_named' };
}

function warn(labels: readonly GivenLabel[], what: string): void {
  const [first] = labels;
  if (!first) return;
  const are = labels.length === 1 ? 'label is' : 'labels are';
  remark(`${labels.length} ${are} left out, as ${what}: the first is ${first.place}`);
}
