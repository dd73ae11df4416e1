import { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import { declareWindows, windowAttention } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';
import { declareSequences, type KeyValue } from './sequence-batch.js';

/** The model over a part of a window, whose earlier parts are `inner` keys and values. */
export interface WindowPart {
  readonly g: Graph;
  /** `[rows, hidden]` */
  readonly embeddings: Value;
  /** `[scored, vocab]` */
  readonly logits: Value;
  /** The tokens that are scored, `[scored]`. */
  readonly targets: Value;
  /** Of earlier parts, per layer. */
  readonly inner: readonly KeyValue[];
  /** Of this one, per layer. */
  readonly present: readonly KeyValue[];
}

/**
 * Begins a graph for windows that are too long for one run. Inputs: those of {@link declareSequences} and
 * {@link declareWindows} for one sequence; `rows`, `targets` int64 `[scored]`.
 */
export function beginWindowPart(source: ModelSource): WindowPart {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const batch = declareSequences(g, config, 1);
  const windows = declareWindows(g, config, batch, ['past', 'inner']);
  const rows = g.input('rows', 'int64', ['scored']);
  const targets = g.input('targets', 'int64', ['scored']);
  const present: KeyValue[] = [];
  const attention = windowAttention(g, config, batch, windows, (_, layer, made) => {
    present[layer] = made;
  });
  const embeddings = decoder.embed(batch.ids);
  const logits = decoder.logits(decoder.layers(embeddings, attention), rows);
  return { g, embeddings, logits, targets, inner: windows.inner[0]!, present };
}
