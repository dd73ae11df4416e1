import { paperComparison } from './comparison-table.js';
import type { Block, ReportDocument, Section } from './document.js';
import { relatedTables } from './paper/match.js';
import type { Paper, PaperTable } from './paper/paper-tables.js';
import { type Run, runTitle } from './runs.js';
import { answersSection } from './sections/answers-section.js';
import { type Comparison, comparedSection } from './sections/compared-section.js';
import { countsSection } from './sections/counts-section.js';
import { efficiencySection } from './sections/efficiency-section.js';
import { pairedSection } from './sections/paired-section.js';
import { pooledSection } from './sections/pooled.js';
import { PAPER_SOURCE, provenanceSection } from './sections/provenance.js';
import { resultSections } from './sections/result-tables.js';
import { settingsSection } from './sections/settings-section.js';

/** What is known beside the evaluations of the runs. */
export interface ReportExtras {
  readonly comparisons?: readonly Comparison[];
  /** Whether a page beside the report lists the answers. */
  readonly isListed?: boolean;
}

/** All that there is to say about some runs, in the order that it is read. */
export function buildReport(
  runs: readonly Run[],
  paper: Paper,
  { comparisons = [], isListed = false }: ReportExtras = {},
): ReportDocument {
  const related = relatedTables(
    paper,
    runs.map(({ evaluation }) => evaluation),
  );
  const sections = [
    comparedSection(comparisons),
    answersSection(runs, isListed),
    pooledSection(runs),
    provenanceSection(runs),
    ...resultSections(runs, paper),
    pairedSection(runs),
    efficiencySection(runs, paper),
    countsSection(runs),
    settingsSection(runs),
    related.length > 0 ? paperSection(related, true) : null,
  ];
  return {
    title: 'Benchmark report',
    lead: runs.map(runTitle),
    sections: sections.filter((section) => section !== null),
  };
}

/** The paper's tables with its own numbers, and nothing else. */
export const buildPaper = ({ tables }: Paper): ReportDocument => ({
  title: 'The paper’s tables',
  lead: ['The paper’s own numbers, rendered by the same code as ours.'],
  sections: [paperSection(tables, false)],
});

const paperSection = (tables: readonly PaperTable[], folded: boolean): Section => ({
  id: 'paper',
  title: 'The paper’s numbers',
  blocks: [
    { kind: 'text', text: PAPER_SOURCE },
    ...tables.map((table): Block => paperComparison(table, folded)),
  ],
});
