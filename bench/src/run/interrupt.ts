import { setMaxListeners } from 'node:events';
import { remark } from 'flinch/internals';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

class Interrupted extends Error {}

/**
 * Work that a signal ends in order, and at once if it comes again.
 * @param hint how to go on
 */
export async function interruptible(
  hint: string,
  work: (interrupt: AbortController) => Promise<void>,
): Promise<void> {
  const interrupt = new AbortController();
  // All that is under way listens to it. With 0 for no limit, getMaxListeners, which undici calls, throws in Node.js 20.
  setMaxListeners(Number.POSITIVE_INFINITY, interrupt.signal);
  const onSignal = (): void => {
    if (interrupt.signal.aborted) process.exit(130);
    interrupt.abort(new Interrupted());
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    await work(interrupt);
  } catch (error) {
    if (!(interrupt.signal.reason instanceof Interrupted)) throw error;
    remark(`interrupted; ${hint}`);
    // Outstanding requests to a judge are abandoned.
    process.exit(130);
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}
