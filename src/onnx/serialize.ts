import { relative } from 'node:path';
import type { Initializer } from './graph.js';
import { type Attribute, ELEMENT_TYPE_CODE, GraphError, type Value } from './onnx-types.js';
import type { Node } from './operators.js';
import { operatorSpec } from './operators.js';
import { encodeModel } from './proto.js';
import type { FinishedGraph } from './weights-as-inputs.js';

const ATTRIBUTE_TYPE_CODE = { float: 1, int: 2, string: 3, ints: 7 } as const;
const EXTERNAL = 1;

/** Operators of opset 23 (RMSNormalization, RotaryEmbedding) need IR version 11. */
const IR_VERSION = 11;
const OPSETS = [
  { domain: '', version: 23 },
  { domain: 'com.microsoft', version: 1 },
];

/**
 * The graph as an ONNX model.
 *
 * It states the shapes of all values. Those that onnxruntime cannot infer have buffers that nothing reuses, and its planner
 * looks through all of them for every node: the time to open a session would be quadratic in the nodes.
 * @param externalFolder the folder that onnxruntime is told to look for external data in; locations are
 *   relative to it and may not leave it.
 */
export function serialize(graph: FinishedGraph, externalFolder = '.'): Uint8Array {
  const names = outputNames(graph);
  return encodeModel({
    irVersion: IR_VERSION,
    producerName: 'flinch',
    opsetImport: OPSETS,
    graph: {
      name: 'flinch',
      node: graph.nodes.map((node) => nodeMessage(node, names)),
      initializer: graph.initializers.map((initializer) => tensorMessage(initializer, externalFolder)),
      input: graph.inputs.map((value) => valueMessage(value.name, value)),
      output: graph.outputs.map(({ name, value }) => valueMessage(name, value)),
      valueInfo: graph.nodes
        .flatMap(({ outputs }) => outputs)
        .filter((value) => names(value) === value.name)
        .map((value) => valueMessage(value.name, value)),
    },
  });
}

type Names = (value: Value | null) => string;

/**
 * Values that leave the graph take the names that callers ask for. An `Identity` would do the same, but would
 * copy a KV cache that is to be written in place.
 */
function outputNames(graph: FinishedGraph): Names {
  const results = new Set(graph.nodes.flatMap((node) => node.outputs.map((output) => output.name)));
  const renamed = new Map<string, string>();
  for (const { name, value } of graph.outputs) {
    if (!results.has(value.name) || renamed.has(value.name)) {
      throw new GraphError('output', `${name} must be the result of one node, and no other output`);
    }
    renamed.set(value.name, name);
  }
  return (value) => (value ? (renamed.get(value.name) ?? value.name) : '');
}

function nodeMessage(node: Node, names: Names) {
  const spec = operatorSpec(node.op);
  return {
    opType: node.op,
    domain: spec.domain ?? '',
    name: node.outputs[0]?.name ?? node.op,
    input: node.inputs.map(names),
    output: node.outputs.map(names),
    attribute: Object.entries(node.attributes).map(([name, value]) =>
      attributeMessage(name, spec.attributes[name], value),
    ),
  };
}

function attributeMessage(
  name: string,
  kind: keyof typeof ATTRIBUTE_TYPE_CODE | undefined,
  value: Attribute,
) {
  if (!kind) throw new Error(`ONNX: the operator table has no attribute ${name}`);
  const field =
    kind === 'float'
      ? { f: value }
      : kind === 'int'
        ? { i: value }
        : kind === 'string'
          ? { s: new TextEncoder().encode(String(value)) }
          : { ints: value };
  return { name, type: ATTRIBUTE_TYPE_CODE[kind], ...field };
}

function tensorMessage(initializer: Initializer, externalFolder: string) {
  const { value } = initializer;
  const header = { name: value.name, dataType: ELEMENT_TYPE_CODE[value.type], dims: value.shape };
  if ('raw' in initializer) return { ...header, rawData: initializer.raw };
  const { file, offset, byteLength } = initializer.external;
  const entries = { location: relative(externalFolder, file), offset, length: byteLength };
  return {
    ...header,
    dataLocation: EXTERNAL,
    externalData: Object.entries(entries).map(([key, entry]) => ({ key, value: String(entry) })),
  };
}

function valueMessage(name: string, value: Value) {
  const dim = value.shape.map((size) => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }));
  return { name, type: { tensorType: { elemType: ELEMENT_TYPE_CODE[value.type], shape: { dim } } } };
}
