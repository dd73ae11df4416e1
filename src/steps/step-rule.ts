/**
 * The version of the rule for steps: where a step of mode `sentence` ends, which tokens it has (`TokenSteps`), which of
 * them may begin one (`StepAligner`), as blocks of scores end there, what its score is (`stepScore`), and what it is compared
 * with (`kindOfStep`). A calibration carries the version that it was made by, and is read by no other: the scores of other steps are not comparable.
 *
 * Raise it with every change of the rule, and calibrate the models of this repository again.
 * `test/steps/step-rule.test.ts` fails if texts are split or scored in another way under the same version.
 */
export const STEP_RULE_VERSION = 3;
