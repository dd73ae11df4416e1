import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Bytes of the heap that are in use. */
export async function heap(): Promise<number> {
  await setImmediate();
  collect();
  return process.memoryUsage().heapUsed;
}
