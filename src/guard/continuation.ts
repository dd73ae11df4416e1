/** Position of the first token of a branch. */
export interface Place {
  /** The step that the token belongs to, and the index of that step's first token. */
  readonly step: number;
  readonly from: number;
}

/** Another way to go on from a part of a branch. */
export interface Continuation extends Place {
  /** Tokens of the response that stay, at least `from`. */
  readonly keep: number;
  /** Text that is inserted before the model writes on. */
  readonly insert?: string;
  /** Temperature of the tokens that are drawn. Default: that of the request. */
  readonly temperature?: number;
  readonly seed: number;
}
