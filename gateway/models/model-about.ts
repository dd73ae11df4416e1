import { basename } from 'node:path';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { reasonerPath } from '../../src/package-root.js';

/** Whether a checkpoint is the model that comes with flinch, or a copy of its folder. */
export const isEmbedded = ({ name }: Pick<Checkpoint, 'name'>): boolean => name === basename(reasonerPath);
