import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Precision } from '#src/engine/precision.js';
import type { Contestant, Work } from './contestant.js';
import type { FlinchMode, FlinchProcessOptions } from './flinch-process.js';
import { openProgram, wholeText, writing } from './program.js';

/** The program of this command, which is also that of flinch's process. */
const ENTRY = fileURLToPath(new URL(`./../main${extname(import.meta.url)}`, import.meta.url));

interface Flinch {
  /** Checkpoint folder or GGUF file. */
  readonly model: string;
  /** The begin of its names. */
  readonly name: string;
  readonly most: { readonly context: number; readonly streams: number };
  readonly precision: Precision;
  /** Of what it writes. */
  readonly temperature: number;
  /** Name of the contestant that it is compared with. */
  readonly reference?: string | undefined;
}

/** Writing alone; writing with the scores that a guard has by default; and with Adv. Pert., under three schedules. */
export function flinchContestants({ name, most, reference, ...options }: Flinch): Contestant[] {
  const contestant = (label: string, mode: FlinchMode): Contestant => ({
    name: `${name}, ${label}`,
    ...(reference !== undefined && { reference }),
    does: ({ prompts, positions }) => prompts.length <= most.streams && positions <= most.context,
    open: () => openFlinch(label, { ...options, mode, contextLength: most.context }, writing),
  });
  return [
    contestant('no scores', 'no scores'),
    contestant('default scores', 'default scores'),
    contestant('with Adv. Pert.', 'Adv. Pert.'),
    contestant('with lazy Adv. Pert.', 'lazy Adv. Pert.'),
    contestant('with lazy Adv. Pert., blocks of 64', 'lazy Adv. Pert., blocks of 64'),
  ];
}

export const OFFLINE = 'flinch, offline scores of a text';

/** Scoring a finished text. */
export const offlineContestant = (model: string, contextLength: number, reference?: string): Contestant => ({
  name: OFFLINE,
  ...(reference !== undefined && { reference }),
  does: isOffline,
  open: () =>
    openFlinch(
      OFFLINE,
      { model, mode: 'offline', contextLength, precision: 'fp32', temperature: 0 },
      wholeText,
    ),
});

/** Finished texts are scored one at a time, and not after long prompts. */
export const isOffline = ({ prompts }: Work): boolean => prompts.length === 1 && prompts[0]!.length <= 32;

function openFlinch(name: string, options: FlinchProcessOptions, read: typeof writing) {
  const child = fork(ENTRY, ['peers-speed', '--contestant', JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: [],
  });
  return openProgram(name, child, { send: (work) => child.send(work), read });
}
