import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { REASONER } from './golden.js';

const WEIGHTS = 'model.safetensors';
const header = z.record(
  z.string(),
  z.object({ shape: z.array(z.number()), data_offsets: z.tuple([z.number(), z.number()]) }).loose(),
);

/** The embedded model as {@link changedModel}. */
export const changedReasoner = (folder: string, change: (weights: Float32Array) => void): string =>
  changedModel(REASONER, folder, change);

/**
 * A model in fp32 with other weights.
 * @param change of each matrix, in place
 * @returns the folder
 */
export function changedModel(model: string, folder: string, change: (weights: Float32Array) => void): string {
  mkdirSync(folder);
  for (const name of readdirSync(model)) {
    if (name !== WEIGHTS && name !== 'calibration.json') symlinkSync(join(model, name), join(folder, name));
  }
  const file = Uint8Array.from(readFileSync(join(model, WEIGHTS)));
  const length = Number(new DataView(file.buffer).getBigUint64(0, true));
  const text = new TextDecoder().decode(file.subarray(8, 8 + length));
  const { __metadata__: _, ...tensors } = JSON.parse(text);
  for (const {
    shape,
    data_offsets: [from, to],
  } of Object.values(header.parse(tensors))) {
    if (shape.length < 2) continue;
    const bytes = file.slice(8 + length + from, 8 + length + to);
    change(new Float32Array(bytes.buffer));
    file.set(bytes, 8 + length + from);
  }
  writeFileSync(join(folder, WEIGHTS), file);
  return folder;
}

/** Rounds to bfloat16, as servers hold weights. */
export function toBfloat16(weights: Float32Array): void {
  const bits = new Uint32Array(weights.buffer);
  for (const [i, value] of bits.entries()) bits[i] = ((value + 0x7fff + ((value >>> 16) & 1)) >>> 16) << 16;
}
