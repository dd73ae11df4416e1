/** The stages of a run, in the order in which they run. */
export const STAGES = [
  'generate',
  'check',
  'locate',
  'claims',
  'sample',
  'graph',
  'score',
  'time',
  'evaluate',
] as const;
export type StageName = (typeof STAGES)[number];
