import type { ModelConfig } from '../checkpoint/config.js';
import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import { declareWindows, outputWindow, windowAttention } from './attention.js';
import { batchedAttention, declareBatch, outputBatch } from './batched-attention.js';
import type { Attention } from './decoder.js';
import { declareSequences } from './sequence-batch.js';

/**
 * How many sequences go through in one run: so many, whose rows follow each other without padding; or any number of
 * windows that are filled up to one length, for devices on which operators cost more than rows. Of `resident` ones the keys
 * and values before the windows are in a store on the device.
 */
export type Sequences = number | 'any' | 'resident';

export interface RunInputs {
  /** Ids of all rows, `[rows]`. */
  readonly ids: Value;
  /** @param keys makes the clean keys and values of the rows outputs: for one of the attentions of a graph */
  attention(keys?: 'outputs keys'): Attention;
}

/**
 * The inputs of a run over several sequences, and attention to them: see {@link declareSequences} and
 * {@link declareWindows}, or {@link declareBatch} for any number of sequences, which has no `inner` keys.
 */
export function declareRun(
  g: Graph,
  config: ModelConfig,
  sequences: Sequences,
  keys: 'past' | 'inner',
): RunInputs {
  if (typeof sequences !== 'number') {
    const batch = declareBatch(g, config, sequences === 'resident');
    return {
      ids: batch.ids,
      attention: (keys) => batchedAttention(g, config, batch, keys && outputBatch(g, config)),
    };
  }
  const batch = declareSequences(g, config, sequences);
  const windows = declareWindows(g, config, batch, [keys]);
  return {
    ids: batch.ids,
    attention: (keys) => windowAttention(g, config, batch, windows, keys && outputWindow(g)),
  };
}
