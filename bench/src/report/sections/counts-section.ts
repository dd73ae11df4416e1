import { comesLabelled } from '../../suites/suite.js';
import { type Block, type Cell, plainTable, type Section, type TableBlock } from '../document.js';
import { perRun, type Run } from '../runs.js';

/** Numbers of cases, from problems on, and reasons why others are left out. */
export function countsSection(runs: readonly Run[]): Section | null {
  const blocks = perRun(runs, ({ evaluation: { counts, claimCounts } }) => [
    ...(counts.length === 0 ? [] : [countsTable(counts)]),
    ...(claimCounts.length === 0 ? [] : [claimCountsTable(claimCounts)]),
  ]);
  if (blocks.length === 0) return null;
  const noteIf = (has: (run: Run) => boolean, text: string): Block[] =>
    runs.some(has) ? [{ kind: 'text', text }] : [];
  return {
    id: 'counts',
    title: 'Accuracy and counts',
    blocks: [
      ...noteIf(({ evaluation }) => evaluation.counts.length > 0 && !countsCutOff(evaluation), LEFT_OUT_LEAD),
      ...noteIf(({ evaluation }) => evaluation.counts.length > 0 && countsCutOff(evaluation), CUT_OFF_LEAD),
      ...noteIf(({ evaluation }) => evaluation.counts.some(({ located }) => located > 0), LOCATED_LEAD),
      ...noteIf(({ evaluation }) => comesLabelled(evaluation.suite), LABELS_LEAD),
      ...noteIf(({ evaluation }) => evaluation.claimCounts.length > 0, CLAIMS_LEAD),
      ...blocks,
    ],
  };
}

const countsCutOff = ({ settings }: Run['evaluation']): boolean => settings.cutOff === 'wrong';

const LEFT_OUT_LEAD = 'Truncated responses are excluded from all tables.';
const CUT_OFF_LEAD = 'Truncated responses count as wrong.';
const LOCATED_LEAD =
  'A wrong response is a case if its first wrong step was located; a spanning step covers more than one sentence.';
const LABELS_LEAD =
  'A ProcessBench response is right if none of its steps is labelled wrong. The final answer of a wrong response may still be right.';
const CLAIMS_LEAD =
  'If statements are judged, no response is right or wrong as a whole, and there is no accuracy. The table shows the mean share of supported statements per response instead (FActScore without its penalty for short responses). Statements without a label (opinions and undecidable ones) and statements not found in their response are excluded; so are responses without any other statement. Intervals resample whole responses, because the statements of a response depend on each other.';

function claimCountsTable(counts: Run['evaluation']['claimCounts']): TableBlock {
  const reasons = [...new Set(counts.flatMap(({ rejected }) => Object.keys(rejected)))];
  return plainTable(
    'From responses to statements',
    [
      'Subset',
      'Responses',
      'Truncated',
      ...reasons.map((reason) => `Left out: ${REASONS.get(reason) ?? reason}`),
      'With statements',
      'Supported',
      'Unsupported',
      'Mean share supported',
      'Without a label',
      'Not in the response',
    ],
    counts.map((count) => ({
      label: count.scope,
      cells: [
        count.problems,
        count.truncated,
        ...reasons.map((reason): Cell => count.rejected[reason] ?? 0),
        count.responses,
        count.supported,
        count.unsupported,
        { ...count.precision, digits: 3 },
        count.unlabelled,
        count.unplaced,
      ],
    })),
  );
}

function countsTable(counts: Run['evaluation']['counts']): TableBlock {
  const all = new Set(counts.flatMap(({ rejected }) => Object.keys(rejected)));
  const isUnlabelled = all.delete('unlabelled') && counts.every(({ located }) => located === 0);
  const reasons = [...all];
  return plainTable(
    'From problems to cases',
    [
      'Subset',
      'Problems',
      'Truncated',
      'Right',
      'Wrong',
      'Unsure',
      'Accuracy',
      ...(isUnlabelled ? [] : ['Located']),
      ...reasons.map((reason) => `Rejected: ${REASONS.get(reason) ?? reason}`),
      ...(isUnlabelled ? [] : ['Spanning']),
    ],
    counts.map((count) => ({
      label: count.scope,
      cells: [
        count.problems,
        count.truncated,
        count.correct,
        count.wrong,
        count.unsure,
        { ...count.accuracy, digits: 3 },
        ...(isUnlabelled ? [] : [count.located]),
        ...reasons.map((reason): Cell => count.rejected[reason] ?? 0),
        ...(isUnlabelled ? [] : [count.spanning]),
      ],
    })),
  );
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['none_named', 'no step was named'],
  ['no_match', 'its text is not in the response'],
  ['unreadable', 'the judge’s reply is unreadable'],
  ['not_reached', 'no completion of the question reaches the answer'],
  ['not_encoded', 'the tokenizer does not reproduce it'],
  ['unlisted', 'not in the file of statements'],
  ['none_labelled', 'no labelled statement'],
]);
