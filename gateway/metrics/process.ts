import { collectDefaultMetrics, Registry } from 'prom-client';
import { packageVersion } from '../../src/package-root.js';
import type { Definition } from './definition.js';
import type { Families } from './families.js';

export const BUILD_INFO = {
  name: 'flinch_build_info',
  type: 'gauge',
  help: 'Always 1; the label is the version of flinch.',
  labels: { version: 'the package version' },
  aggregator: 'max',
} as const satisfies Definition;

export const LOG_LINES_DROPPED = {
  name: 'flinch_log_lines_dropped_total',
  type: 'counter',
  help: 'Lines of the log that were lost because they could not be written, for example to a full disk.',
  labels: {},
} as const satisfies Definition;

/** Version of flinch. */
export function buildInfo(families: Families): void {
  families.gauge(BUILD_INFO).set({ version: packageVersion() }, 1);
}

let ofProcess: Registry | undefined;

/** CPU, memory, event loop and garbage collection: once in a process, for their observers cannot be taken down. */
export function processMetrics(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}
