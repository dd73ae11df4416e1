import protobuf from 'protobufjs';

/**
 * The messages of `inference.GRPCInferenceService` that flinch sends and reads, with the names and numbers of
 * open-inference/open-inference-protocol, specification/protocol/open_inference_grpc.proto; `ModelConfig` is Triton's
 * (triton-inference-server/common, protobuf/grpc_service.proto).
 */
const { root } = protobuf.parse(
  `syntax = "proto3";
  package inference;
  message ServerLiveRequest {}
  message ServerLiveResponse { bool live = 1; }
  message ServerReadyRequest {}
  message ServerReadyResponse { bool ready = 1; }
  message ModelReadyRequest { string name = 1; string version = 2; }
  message ModelReadyResponse { bool ready = 1; }
  message ModelMetadataRequest { string name = 1; string version = 2; }
  message TensorMetadata { string name = 1; string datatype = 2; repeated int64 shape = 3; }
  message ModelMetadataResponse {
    string name = 1;
    repeated string versions = 2;
    string platform = 3;
    repeated TensorMetadata inputs = 4;
    repeated TensorMetadata outputs = 5;
  }
  message ModelConfigRequest { string name = 1; string version = 2; }
  message ModelConfigResponse { bytes config = 1; }
  message InferParameter {
    oneof parameter_choice { bool bool_param = 1; int64 int64_param = 2; string string_param = 3; }
  }
  message InferTensor { string name = 1; string datatype = 2; repeated int64 shape = 3; }
  message InferRequestedOutputTensor { string name = 1; }
  message ModelInferRequest {
    string model_name = 1;
    string model_version = 2;
    string id = 3;
    map<string, InferParameter> parameters = 4;
    repeated InferTensor inputs = 5;
    repeated InferRequestedOutputTensor outputs = 6;
    repeated bytes raw_input_contents = 7;
  }
  message ModelInferResponse {
    string model_name = 1;
    string model_version = 2;
    string id = 3;
    repeated InferTensor outputs = 5;
    repeated bytes raw_output_contents = 6;
  }`,
  { keepCase: true },
);

/** Methods that flinch calls; each takes a `…Request` and answers a `…Response`. */
export type GrpcMethod = 'ServerReady' | 'ModelReady' | 'ModelMetadata' | 'ModelConfig' | 'ModelInfer';

export const methodPath = (method: string): string => `/inference.GRPCInferenceService/${method}`;

export const requestType = (method: string): protobuf.Type => root.lookupType(`inference.${method}Request`);
export const responseType = (method: string): protobuf.Type => root.lookupType(`inference.${method}Response`);

/** Plain values, with every field that there is. */
export const plain = (type: protobuf.Type, bytes: Uint8Array): Record<string, unknown> =>
  type.toObject(type.decode(bytes), { longs: Number, enums: String, defaults: true, arrays: true });
