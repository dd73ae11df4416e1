import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { Server } from 'node:net';
import fc from 'fast-check';

/** Keeps the fast lane fast: what starts a process or listens on a port belongs to `*.integration.test.ts`. */
const refuse = (what: string) => (): never => {
  throw new Error(`a unit test must not ${what}: name the file *.integration.test.ts`);
};

for (const name of ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync'] as const) {
  Object.assign(childProcess, { [name]: refuse('start a process') });
}
Server.prototype.listen = refuse('listen on a port');
syncBuiltinESMExports();

// The same cases in each run. `FUZZ_SEED=2 npm test` draws others, and the fuzzers of the slow lane draw anew each time.
fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 1) });
