import { setMaxListeners } from 'node:events';
import { remark } from 'flinch/internals';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

class Interrupted extends Error {}

/** Time in which work may end in order: a long pass of a model cannot be stopped, and its result is not kept. */
const PATIENCE_MS = 1500;

/**
 * Work that a signal ends in order, or at once if that takes too long or the signal comes again.
 * @param hint how to go on
 */
export async function interruptible(
  hint: string,
  work: (interrupt: AbortController) => Promise<void>,
): Promise<void> {
  const interrupt = new AbortController();
  // All that is under way listens to it. With 0 for no limit, getMaxListeners, which undici calls, throws in Node.js 20.
  setMaxListeners(Number.POSITIVE_INFINITY, interrupt.signal);
  let timer: NodeJS.Timeout | undefined;
  const onSignal = (): void => {
    if (interrupt.signal.aborted) process.exit(130);
    interrupt.abort(new Interrupted());
    timer = setTimeout(leave, PATIENCE_MS).unref();
  };
  const leave = (): never => {
    remark(`interrupted; ${hint}`);
    process.exit(130);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    await work(interrupt);
  } catch (error) {
    if (!(interrupt.signal.reason instanceof Interrupted)) throw error;
    // Outstanding requests to a judge are abandoned.
    leave();
  } finally {
    clearTimeout(timer);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}
