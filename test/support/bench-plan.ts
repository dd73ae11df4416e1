/** Output of `flinch bench run` on standard error after its plan. */
export const afterPlan = (stderr: string): string => stderr.replace(/^plan: .*\n( {2}.*\n)*/, '');
