import type { ModelConfig } from '../checkpoint/config.js';
import type { Graph } from '../onnx/graph.js';
import type { Dim, Value } from '../onnx/onnx-types.js';

/** Keys (rotated) and values of one layer, `[positions, kvHeads, headDim]`. */
export interface KeyValue {
  readonly key: Value;
  readonly value: Value;
}

export interface RotaryInputs {
  /** `[1, rows, dimensions / 2]` */
  readonly cos: Value;
  readonly sin: Value;
}

/** One sequence of a run: its share of the rows. */
export interface SequenceInputs {
  /** Its number in the run; names of inputs and outputs end with it. */
  readonly index: number;
  readonly rows: Dim;
}

export interface SequenceBatch {
  /** Ids of all sequences, one after the other, `[rows]`. */
  readonly ids: Value;
  /** One for each rope of the configuration. */
  readonly rotary: readonly RotaryInputs[];
  readonly sequences: readonly SequenceInputs[];
}

/**
 * The inputs of a run over several sequences whose rows follow each other, without padding: what is done to a row alone
 * is done to all at once, only attention looks at one sequence after the other.
 *
 * Per sequence t: `ids.t` int64 `[rows of t]`. For all, per rope r: `cos.r`, `sin.r` `[1, rows, dimensions / 2]`.
 */
export function declareSequences(g: Graph, config: ModelConfig, count: number): SequenceBatch {
  const sequences = Array.from({ length: count }, (_, index) => ({ index, rows: `rows.${index}` }));
  const parts = sequences.map(({ index, rows }) => g.input(`ids.${index}`, 'int64', [rows]));
  const ids = concatRows(g, parts, 0);
  return { ids, rotary: declareRotary(g, config, ids.shape[0]!), sequences };
}

/** Inputs `prefix` `key.index.layer` and `value.index.layer`, `[positions, kvHeads, headDim]`. */
export function declareKeys(
  g: Graph,
  { layers, kvHeads, headDim }: ModelConfig,
  positions: Dim,
  { index, prefix = '' }: { readonly index: number; readonly prefix?: string },
): KeyValue[] {
  const input = (name: string): Value =>
    g.input(`${prefix}${name}`, 'float32', [positions, kvHeads, headDim]);
  return Array.from({ length: layers }, (_, layer) => ({
    key: input(`key.${index}.${layer}`),
    value: input(`value.${index}.${layer}`),
  }));
}

/** Declares inputs for each rope: `cos.r`, `sin.r` `[1, rows, dimensions / 2]`. */
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
