import type { ElementType, Value } from '../../onnx/onnx-types.js';
import type { Signature } from './served-graphs.js';

export const VERSION = 1;

/** Sequences that a server holds at a time; more wait. */
const MAX_SEQUENCES = 256;
/** Time after which it forgets a sequence without requests, such as of a slow client, or a gateway that is gone. */
const IDLE_SECONDS = 60;

const DATA_TYPES: Readonly<Partial<Record<ElementType, string>>> = {
  float32: 'TYPE_FP32',
  int64: 'TYPE_INT64',
};

/**
 * `config.pbtxt` of a graph for Triton's ONNX Runtime backend: `inference.ModelConfig` of triton-inference-server/common,
 * protobuf/model_config.proto, as text.
 *
 * - `max_batch_size: 0`: the graphs have no batch axis; shapes are given whole.
 * - TF32 has 10 bits of mantissa, fewer than the perturbation needs.
 * - Nearly every run has its own shape, and memory patterns are kept for each.
 * - Sequences: `direct` would give each a batch slot of its own, of which there is one without a batch axis; `oldest`
 *   takes as many sequences as it is told (core, src/sequence_batch_scheduler).
 */
export function modelConfig(name: string, { inputs, outputs, states }: Signature): string {
  const tensors = (field: string, values: readonly Value[]): string[] =>
    values.map((value) => `${field} { name: "${value.name}" ${contentOf(value)} }`);
  const sequences = [
    'sequence_batching {',
    `  max_sequence_idle_microseconds: ${1e6 * IDLE_SECONDS}`,
    `  oldest { max_candidate_sequences: ${MAX_SEQUENCES} }`,
    ...states.map(
      ({ input, output }) =>
        `  state { input_name: "${input.name}" output_name: "${output.name}" ${contentOf(input)} }`,
    ),
    '}',
  ];
  const lines = [
    `name: "${name}"`,
    'backend: "onnxruntime"',
    'max_batch_size: 0',
    `version_policy { specific { versions: ${VERSION} } }`,
    ...tensors('input', inputs),
    ...tensors('output', outputs),
    ...(states.length > 0 ? sequences : []),
    'instance_group { kind: KIND_AUTO count: 1 }',
    'optimization { execution_accelerators { gpu_execution_accelerator {',
    '  name: "cuda" parameters { key: "use_tf32" value: "0" }',
    '} } }',
    'parameters { key: "intra_op_thread_count" value { string_value: "0" } }',
    'parameters { key: "enable_mem_pattern" value { string_value: "0" } }',
  ];
  return `${lines.join('\n')}\n`;
}

const contentOf = ({ type, shape }: Value): string =>
  `data_type: ${DATA_TYPES[type]} dims: [${shape.map((dim) => (typeof dim === 'number' ? dim : -1)).join(', ')}]`;
