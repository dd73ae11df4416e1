/** The stages of a run, in the order in which they run. */
export const STAGES = [
  'generate',
  'check',
  'locate',
  'claims',
  'sample',
  'score',
  'time',
  'evaluate',
] as const;
export type StageName = (typeof STAGES)[number];
