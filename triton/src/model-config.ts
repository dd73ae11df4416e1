import type { ElementType, Value } from 'flinch/engine-server';
import protobuf from 'protobufjs';
import textFormat from 'protobufjs/ext/textformat.js';
import type { Signature } from './served-graphs.js';

/**
 * The fields of `inference.ModelConfig` that flinch writes, with the names and numbers of
 * triton-inference-server/common, protobuf/model_config.proto. protobufjs writes the text.
 */
export const ModelConfig = protobuf
  .parse(
    `syntax = "proto3";
  package inference;
  enum DataType { TYPE_INVALID = 0; TYPE_INT64 = 9; TYPE_FP32 = 11; }
  message ModelInput { string name = 1; DataType data_type = 2; repeated int64 dims = 4; }
  message ModelOutput { string name = 1; DataType data_type = 2; repeated int64 dims = 3; }
  message ModelInstanceGroup {
    enum Kind { KIND_AUTO = 0; KIND_GPU = 1; KIND_CPU = 2; KIND_MODEL = 3; }
    Kind kind = 4;
    int32 count = 2;
  }
  message ModelVersionPolicy {
    message Specific { repeated int64 versions = 1; }
    oneof policy_choice { Specific specific = 3; }
  }
  message ModelOptimizationPolicy {
    message ExecutionAccelerators {
      message Accelerator { string name = 1; map<string, string> parameters = 2; }
      repeated Accelerator gpu_execution_accelerator = 1;
    }
    ExecutionAccelerators execution_accelerators = 5;
  }
  message ModelSequenceBatching {
    message State {
      string input_name = 1;
      string output_name = 2;
      DataType data_type = 3;
      repeated int64 dims = 4;
    }
    message StrategyOldest { int32 max_candidate_sequences = 1; }
    uint64 max_sequence_idle_microseconds = 1;
    oneof strategy_choice { StrategyOldest oldest = 4; }
    repeated State state = 5;
  }
  message ModelParameter { string string_value = 1; }
  message ModelConfig {
    string name = 1;
    string backend = 17;
    ModelVersionPolicy version_policy = 3;
    int32 max_batch_size = 4;
    repeated ModelInput input = 5;
    repeated ModelOutput output = 6;
    ModelOptimizationPolicy optimization = 12;
    oneof scheduling_choice { ModelSequenceBatching sequence_batching = 13; }
    repeated ModelInstanceGroup instance_group = 7;
    map<string, ModelParameter> parameters = 14;
  }`,
    { keepCase: true },
  )
  .root.lookupType('inference.ModelConfig');

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
 * `config.pbtxt` of a graph for Triton's ONNX Runtime backend.
 *
 * - `max_batch_size: 0`: the graphs have no batch axis; shapes are given whole.
 * - TF32 has 10 bits of mantissa, fewer than the perturbation needs.
 * - Nearly every run has its own shape, and memory patterns are kept for each.
 * - Sequences: `direct` would give each a batch slot of its own, of which there is one without a batch axis; `oldest`
 *   takes as many sequences as it is told (core, src/sequence_batch_scheduler).
 */
export function modelConfig(name: string, { inputs, outputs, states }: Signature): string {
  const content = ({ type, shape }: Value) => ({
    data_type: DATA_TYPES[type],
    dims: shape.map((dim) => (typeof dim === 'number' ? dim : -1)),
  });
  const tensor = (value: Value) => ({ name: value.name, ...content(value) });
  const state = ({ input, output }: Signature['states'][number]) => ({
    input_name: input.name,
    output_name: output.name,
    ...content(input),
  });
  const sequences = {
    max_sequence_idle_microseconds: 1e6 * IDLE_SECONDS,
    oldest: { max_candidate_sequences: MAX_SEQUENCES },
    state: states.map(state),
  };
  const accelerator = { name: 'cuda', parameters: { use_tf32: '0' } };
  const config = {
    name,
    backend: 'onnxruntime',
    version_policy: { specific: { versions: [VERSION] } },
    input: inputs.map(tensor),
    output: outputs.map(tensor),
    ...(states.length > 0 && { sequence_batching: sequences }),
    instance_group: [{ kind: 'KIND_AUTO', count: 1 }],
    optimization: { execution_accelerators: { gpu_execution_accelerator: [accelerator] } },
    parameters: {
      intra_op_thread_count: { string_value: '0' },
      enable_mem_pattern: { string_value: '0' },
    },
  };
  // protobufjs leaves out fields that are 0.
  return `max_batch_size: 0\n${textFormat.toText(ModelConfig, ModelConfig.fromObject(config))}`;
}
