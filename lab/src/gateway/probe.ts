import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded into a gateway that is measured (`node --import`): answers each message of its parent with how late its event
 * loop was since the last one, and what memory it holds after a garbage collection.
 */

/** Milliseconds between two looks at the clock; delays are beyond it. */
const RESOLUTION_MS = 1;

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
process.on('message', () => {
  const [p50, p99, max] = [delay.percentile(50), delay.percentile(99), delay.max].map(
    (ns) => ns / 1e6 - RESOLUTION_MS,
  );
  global.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  // Excludes the delay by the collection itself.
  setImmediate(() => delay.reset());
  process.send?.({ loop: { p50, p99, max }, memory: { heapUsed, external, rss } });
});
