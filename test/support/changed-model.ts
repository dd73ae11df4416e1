import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { decodeElements, roundToBfloat16 } from '#src/checkpoint/elements.js';
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
export const changedModel = (
  model: string,
  folder: string,
  change: (weights: Float32Array) => void,
): string =>
  rewritten(model, folder, (weights, _name, shape) => {
    if (shape.length > 1) change(weights);
  });

/** Changes a tensor with this name and shape in place. */
type Change = (weights: Float32Array, name: string, shape: readonly number[]) => void;

function rewritten(model: string, folder: string, change: Change): string {
  mkdirSync(folder);
  for (const name of readdirSync(model)) {
    if (name !== WEIGHTS && name !== 'calibration.json') symlinkSync(join(model, name), join(folder, name));
  }
  const file = Uint8Array.from(readFileSync(join(model, WEIGHTS)));
  const length = Number(new DataView(file.buffer).getBigUint64(0, true));
  const text = new TextDecoder().decode(file.subarray(8, 8 + length));
  const { __metadata__: _, ...tensors } = JSON.parse(text);
  for (const [name, { shape, data_offsets }] of Object.entries(header.parse(tensors))) {
    const [from, to] = data_offsets;
    const bytes = file.slice(8 + length + from, 8 + length + to);
    change(new Float32Array(bytes.buffer), name, shape);
    file.set(bytes, 8 + length + from);
  }
  writeFileSync(join(folder, WEIGHTS), file);
  return folder;
}

/** Rounds to bfloat16, as servers hold weights. */
export const toBfloat16 = (weights: Float32Array): void =>
  weights.set(decodeElements('bf16', roundToBfloat16(weights)));

const OUTLIER = 50;

/** Whether a row or column of so many is one. */
type Outliers = (i: number, count: number) => boolean;
const channels: Outliers = (i) => i % 64 === 5;
const heads: Outliers = (i, count) => i < count / 2;

/** Rows of a tensor that are multiplied, and columns that are divided because they read such rows. */
const OUTLIERS: Readonly<Record<string, { readonly rows?: Outliers; readonly columns?: Outliers }>> = {
  input_layernorm: { rows: channels },
  q_proj: { columns: channels },
  k_proj: { columns: channels },
  v_proj: { rows: heads, columns: channels },
  o_proj: { columns: heads },
  post_attention_layernorm: { rows: channels },
  gate_proj: { columns: channels },
  up_proj: { rows: channels, columns: channels },
  down_proj: { columns: channels },
};

/**
 * A model in fp32 that is the same function, with outliers in its activations, as real models have them.
 * @returns the folder
 */
export const modelWithOutliers = (model: string, folder: string): string =>
  rewritten(model, folder, (weights, name, shape) => {
    const outliers = OUTLIERS[name.split('.').at(-2)!];
    if (!outliers) return;
    const [rows, columns = 1] = shape as [number, number?];
    for (const i of weights.keys()) {
      if (outliers.rows?.(Math.floor(i / columns), rows)) weights[i]! *= OUTLIER;
      if (outliers.columns?.(i % columns, columns)) weights[i]! /= OUTLIER;
    }
  });
