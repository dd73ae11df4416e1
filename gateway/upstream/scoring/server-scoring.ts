import { DEFAULT_METHODS, type Method } from '../../../src/uncertainty/method-names.js';
import { type Scoring, SettingsError } from '../../../src/uncertainty/settings.js';

/** Methods that the graphs of `flinch export triton` compute. */
const METHODS: readonly Method[] = DEFAULT_METHODS;

/** @throws SettingsError for what inference servers do not compute */
export function checkServerScoring({ methods }: Scoring): void {
  const missing = methods.find((method) => !METHODS.includes(method));
  if (missing !== undefined) {
    const problem = `${missing} is not computed on inference servers (${METHODS.join(', ')} are)`;
    throw new SettingsError('methods', problem);
  }
}
