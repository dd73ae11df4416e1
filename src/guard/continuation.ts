/** Position of the first token of a branch, which begins a step. */
export interface BranchPoint {
  /** The step that the token belongs to, and the index of that step's first token. */
  readonly step: number;
  readonly from: number;
}

/** Another way to go on from a step's begin: the `from` tokens before it stay. */
export interface Continuation extends BranchPoint {
  /** Temperature of the tokens that are drawn. Default: that of the request. */
  readonly temperature?: number;
  readonly seed: number;
}
