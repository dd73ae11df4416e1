import { types } from 'node:util';
import { createContext, Script } from 'node:vm';
import { TextLimitError } from '../files/file-errors.js';

const script = new Script('work()');

/**
 * Runs work that is stopped if it takes too long, in the middle of a loop or a regular expression. It takes a thread and
 * file descriptors, without which the process would end: fit for opening a model, not for serving requests.
 *
 * @throws TextLimitError; what the work throws
 */
export function within<T>(ms: number, work: () => T): T {
  const outcome: { done?: { readonly value: T } } = {};
  const run = (): void => {
    outcome.done = { value: work() };
  };
  try {
    script.runInContext(createContext({ work: run }), { timeout: ms });
  } catch (error) {
    // An Error of the context's own realm.
    if (!(types.isNativeError(error) && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'))
      throw error;
  }
  if (!outcome.done) throw new TextLimitError(`it takes more than ${ms} ms`);
  return outcome.done.value;
}
