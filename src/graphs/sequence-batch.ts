import type { ModelConfig } from '../checkpoint/config.js';
import type { Graph } from '../onnx/graph.js';
import type { Dim, Value } from '../onnx/types.js';

/** Keys (rotated) and values of one layer, `[1, kvHeads, positions, headDim]`. */
export interface KeyValue {
  readonly key: Value;
  readonly value: Value;
}

export interface RotaryInputs {
  /** `[1, rows, dimensions / 2]` */
  readonly cos: Value;
  readonly sin: Value;
}

/** One sequence of a run: its share of the rows, and what its rows attend to. */
export interface SequenceInputs {
  /** Its number in the run; names of inputs and outputs end with it. */
  readonly index: number;
  readonly rows: Dim;
  /** Per layer, `[1, kvHeads, capacity, headDim]`. */
  readonly cache: readonly KeyValue[];
}

export interface SequenceBatch {
  /** Of all sequences, one after the other, `[rows]`. */
  readonly ids: Value;
  /** Of each of the configuration's ropes. */
  readonly rotary: readonly RotaryInputs[];
  readonly sequences: readonly SequenceInputs[];
}

/**
 * The inputs of a run over several sequences whose rows follow each other, without padding: what is done to a row alone
 * is done to all at once, only attention looks at one sequence after the other.
 *
 * Per sequence t: `ids.t` int64 `[rows of t]`, and per layer `key.t.layer` and `value.t.layer`
 * `[1, kvHeads, capacity, headDim]`. For all, per rope r: `cos.r`, `sin.r` `[1, rows, dimensions / 2]`.
 */
export function declareSequences(g: Graph, config: ModelConfig, count: number): SequenceBatch {
  const { layers, kvHeads, headDim } = config;
  const each = Array.from({ length: count }, (_, t) => t);
  const parts = each.map((t) => g.input(`ids.${t}`, 'int64', [`rows.${t}`]));
  const ids = concatRows(g, parts, 0);
  const rotary = declareRotary(g, config, ids.shape[0]!);
  const sequences = each.map((index): SequenceInputs => {
    const shape = [1, kvHeads, `capacity.${index}`, headDim] as const;
    const cache = Array.from({ length: layers }, (_, layer) => ({
      key: g.input(`key.${index}.${layer}`, 'float32', shape),
      value: g.input(`value.${index}.${layer}`, 'float32', shape),
    }));
    return { index, rows: `rows.${index}`, cache };
  });
  return { ids, rotary, sequences };
}

/** Of each rope: `cos.r`, `sin.r` `[1, rows, dimensions / 2]`. */
export function declareRotary(g: Graph, { ropes }: ModelConfig, rows: Dim, prefix = ''): RotaryInputs[] {
  return ropes.map(({ dimensions }, r) => {
    const angles = [1, rows, dimensions / 2] as const;
    return {
      cos: g.input(`${prefix}cos.${r}`, 'float32', angles),
      sin: g.input(`${prefix}sin.${r}`, 'float32', angles),
    };
  });
}

/** The rows of every sequence, in order. */
export function splitRows(
  g: Graph,
  value: Value,
  axis: number,
  sequences: readonly SequenceInputs[],
): Value[] {
  return sequences.length === 1
    ? [value]
    : g.split(
        value,
        axis,
        sequences.map(({ rows }) => rows),
      );
}

export function concatRows(g: Graph, parts: readonly Value[], axis: number): Value {
  return parts.length === 1 ? parts[0]! : g.op('Concat', parts, { axis });
}
