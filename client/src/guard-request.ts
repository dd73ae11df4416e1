// Written by `npm run schemas` from src/guard/guard-fields.ts; changes are made there.

import type { Method } from './client-methods.js';

/** How the scores are computed. */
export interface ScoringRequest {
  /** Maximum number of new tokens scored by one pass. Default: `16`. */
  readonly block?: number;
  /** Number of positions perturbed by one pass, at least `block`, or `all` (default: 32, or `block` if that is larger). */
  readonly window?: number | 'all';
  /** `adversarial`: size of the perturbation, absolute, or relative to the embeddings' root mean square as in `0.005rms` (default: 0.0001). */
  readonly alpha?: number | string;
}

/** How tokens are scored, and what happens to doubtful steps. Absent fields have the server's defaults. */
export interface GuardRequest {
  /** Score the tokens and judge the steps; if false, all other fields are ignored. Default: `true`. */
  readonly enabled?: boolean;
  /** Scores computed for each token (default: `adversarial`, `nll`, `entropy`, `margin`, as far as the model can compute them, and `method`). */
  readonly methods?: readonly Method[];
  /** How the scores are computed. */
  readonly scoring?: ScoringRequest;
  /** Score that steps are judged by (default: the one that the calibration of the model names, or else `entropy`, if it is one of `methods`, otherwise the first of them). */
  readonly method?: Method;
  /** What `rate` is a share of: of steps (`step`), or of answers with a flagged step (`answer`, which needs a calibration with whole answers). Default: `"step"`. */
  readonly per?: 'step' | 'answer';
  /** Target false-alarm rate of steps or answers (`per`): a risk of at least 1 − `rate` is flagged. Default: `0.02`. */
  readonly rate?: number;
  /** Tokens are sent at once (`immediate`), or in whole steps once they are settled (`held`); `rollback` is always `held` where nothing can be taken back: Server-Sent Events, whole responses, terminals. Default: `"immediate"`. */
  readonly delivery?: 'immediate' | 'held';
  /** What happens if scoring is slower than writing: the text waits for its scores (`wait`), or whole blocks are not scored, the most certain first (`skip`, which `held` and `rollback` do not allow) (default: `skip` for a model with upstreams and a scorer, where it is allowed, otherwise `wait`). */
  readonly lag?: 'wait' | 'skip';
  /** What happens to a flagged step: it is marked (`annotate`), the response ends (`stop`), or the step is sampled again (`rollback`); or another model answers in place of a flagged answer (`escalate`, in a gateway whose model names one), or further answers are drawn, of which the one that most agree with is returned (`vote`, in a gateway). Default: `"annotate"`. */
  readonly action?: 'annotate' | 'stop' | 'rollback' | 'escalate' | 'vote';
  /** `rollback`: number of continuations sampled in addition to the flagged one, of which what most say is kept; `vote`: maximum number of further answers. Default: `4`. */
  readonly candidates?: number;
  /** `rollback`: maximum number of them in a response; steps flagged later are only marked. Default: `8`. */
  readonly max_rollbacks?: number;
  /** `escalate`, `vote`: share of all answers that are replaced, the most doubtful of the last ones (default: the answers whose verdict is flagged). */
  readonly budget?: number;
}
