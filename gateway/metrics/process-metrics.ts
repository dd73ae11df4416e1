import { collectDefaultMetrics, Registry } from 'prom-client';

let ofProcess: Registry | undefined;

/** CPU, memory, event loop and garbage collection: once in a process, for their observers cannot be taken down. */
export function processMetrics(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}
