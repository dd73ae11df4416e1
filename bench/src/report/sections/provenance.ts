import { SUBSTITUTES } from '../../measures/parse-measure.js';
import { rolloutsNamed } from '../../records/run-settings.js';
import type { Inline, Section } from '../document.js';
import { groupBy } from '../group-by.js';
import { LEVELS, type Level, rowsOf } from '../levels.js';
import { measureLabel } from '../measure-label.js';
import { type Run, runTitle } from '../runs.js';

/** Sources of the numbers, and substitutes. */
export function provenanceSection(runs: readonly Run[]): Section {
  const substituted = toldOnce(runs, substitutions);
  const labels = toldOnce(runs, labelling);
  const items: Inline[] = [
    'Numbers come from the runs below, unless they are marked “paper” or their table is titled “the paper”. A dash means not measured, n/a measured but not defined: an AUROC, say, where no answer is wrong. Brackets contain 95 % intervals.',
    ...(runs.every(isOwn) ? [] : [PAPER_SOURCE]),
    ...labels,
    ...substituted,
  ];
  return {
    id: 'whose',
    title: 'Sources of the numbers',
    blocks: [{ kind: 'list', items }],
  };
}

/** One's own questions are not the paper's. */
const isOwn = ({ evaluation }: Run): boolean => evaluation.settings.suite === 'own';

export const PAPER_SOURCE: Inline = [
  'The paper’s numbers: ',
  {
    text: 'Embedding Perturbation may Better Reflect Intermediate-Step Uncertainty in LLM Reasoning, arXiv 2602.02427 v2',
    href: 'https://arxiv.org/abs/2602.02427',
  },
  ', under ',
  { text: 'CC BY 4.0', href: 'https://creativecommons.org/licenses/by/4.0/' },
  '; copied unchanged from its tables.',
];

/** Sentences that apply to all runs, once; a sentence that applies to some is listed for each of them. */
function toldOnce(runs: readonly Run[], sentencesOf: (run: Run) => readonly string[]): string[] {
  const notes = runs.flatMap((run) => sentencesOf(run).map((sentence) => ({ sentence, run })));
  return [...groupBy(notes, ({ sentence }) => sentence)].flatMap(([sentence, of]) =>
    of.length === runs.length ? [sentence] : of.map(({ run }) => `${runTitle(run)}: ${sentence}`),
  );
}

/** Labels that are an estimate. */
function labelling({ evaluation }: Run): string[] {
  const by = rolloutsNamed(evaluation.settings);
  return by === null ? [] : [`First wrong steps are labels by ${by}, not of a judge or of people.`];
}

/** Light stand-ins, which are other methods than the paper's. */
function substitutions(run: Run): string[] {
  const measured = measuresOf(run);
  return SUBSTITUTES.filter(({ name }) => measured.has(name)).map(
    ({ name, method, words }) =>
      `${measureLabel(name)} is not the paper’s ${measureLabel(method)}, but a light substitute: ${words}.`,
  );
}

const measuresOf = ({ evaluation }: Run): Set<string> =>
  new Set(LEVELS.flatMap((level: Level) => rowsOf(evaluation, level).map(({ measure }) => measure)));
