/**
 * A measure of uncertainty as a run names it: a method, with settings that differ from its defaults, such as
 * `adversarial`, `adversarial:block=8,window=64`, `random:samples=40`. The name is its identity in every file.
 */
export type MeasureName = string;

/** What a measure says of one response; what it cannot say of a whole is derived: a step's sum and maximum, and so on. */
export interface MeasureScores {
  /** One for each token of the response; `null` for a token that a schedule did not attack. */
  readonly tokens?: readonly (number | null)[];
  /** One for each step, of measures that score steps of themselves (CCP, TokenSAR, Graph Uncertainty). */
  readonly steps?: readonly number[];
  /** Of measures that score whole responses of themselves (CCP, TokenSAR, Self-Consistency). */
  readonly response?: number;
}
