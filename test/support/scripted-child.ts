import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Backend } from '#src/engine/device.js';
import { EngineProcess, type ProcessLoss } from '#src/engine/engine-process.js';

/** Behaviour of the process at its opening: be ready, hang in a loop, exit, or exit if it is to use CUDA graphs. */
export type Mode = 'ready' | 'hang' | 'fail' | 'fail with graphs';

const SCRIPT = `
import { readFileSync } from 'node:fs';
process.on('disconnect', () => process.exit(0));
process.on('message', (message) => {
  if (message.type === 'ping') process.send({ type: 'pong' });
  if (message.type !== 'open') return;
  const mode = readFileSync(message.control, 'utf8');
  if (mode === 'fail' || (mode === 'fail with graphs' && !message.together)) process.exit(3);
  while (mode === 'hang');
  process.send({ type: 'ready', device: message.device });
});
`;

interface FromScript {
  readonly type: string;
  readonly stream?: number;
}

/** A process without a model, whose start the test decides upon. */
export function scriptedProcess(folder: string, stallMs?: number, devices: readonly Backend[] = ['cpu']) {
  const entry = join(folder, 'child.mjs');
  const control = join(folder, 'mode');
  writeFileSync(entry, SCRIPT);
  const set = (mode: Mode): void => writeFileSync(control, mode);
  set('ready');
  const losses: ProcessLoss[] = [];
  const watched = new EngineProcess<{ readonly type: string }, FromScript>(
    Object.assign({ role: 'scripted' }, { type: 'open', control }),
    devices,
    { entry, onLoss: (loss) => losses.push(loss), ...(stallMs !== undefined && { stallMs: () => stallMs }) },
  );
  return { process: watched, losses, set };
}
