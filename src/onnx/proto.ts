import protobuf from 'protobufjs';

/**
 * The messages of onnx.proto that flinch writes, with the field numbers of the ONNX specification
 * (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto). protobufjs does the encoding.
 */
const message = (fields: Record<string, [type: string, id: number, rule?: 'repeated']>) => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, [type, id, rule]]) => [
      name,
      rule ? { type, id, rule } : { type, id },
    ]),
  ),
});

const root = protobuf.Root.fromJSON({
  options: { syntax: 'proto3' },
  nested: {
    ModelProto: message({
      irVersion: ['int64', 1],
      producerName: ['string', 2],
      graph: ['GraphProto', 7],
      opsetImport: ['OperatorSetIdProto', 8, 'repeated'],
    }),
    OperatorSetIdProto: message({ domain: ['string', 1], version: ['int64', 2] }),
    GraphProto: message({
      node: ['NodeProto', 1, 'repeated'],
      name: ['string', 2],
      initializer: ['TensorProto', 5, 'repeated'],
      input: ['ValueInfoProto', 11, 'repeated'],
      output: ['ValueInfoProto', 12, 'repeated'],
      valueInfo: ['ValueInfoProto', 13, 'repeated'],
    }),
    NodeProto: message({
      input: ['string', 1, 'repeated'],
      output: ['string', 2, 'repeated'],
      name: ['string', 3],
      opType: ['string', 4],
      attribute: ['AttributeProto', 5, 'repeated'],
      domain: ['string', 7],
    }),
    AttributeProto: message({
      name: ['string', 1],
      f: ['float', 2],
      i: ['int64', 3],
      s: ['bytes', 4],
      ints: ['int64', 8, 'repeated'],
      type: ['int32', 20],
    }),
    TensorProto: message({
      dims: ['int64', 1, 'repeated'],
      dataType: ['int32', 2],
      name: ['string', 8],
      rawData: ['bytes', 9],
      externalData: ['StringStringEntryProto', 13, 'repeated'],
      dataLocation: ['int32', 14],
    }),
    StringStringEntryProto: message({ key: ['string', 1], value: ['string', 2] }),
    ValueInfoProto: message({ name: ['string', 1], type: ['TypeProto', 2] }),
    TypeProto: message({ tensorType: ['TensorTypeProto', 1] }),
    TensorTypeProto: message({ elemType: ['int32', 1], shape: ['TensorShapeProto', 2] }),
    TensorShapeProto: message({ dim: ['DimensionProto', 1, 'repeated'] }),
    DimensionProto: message({ dimValue: ['int64', 1], dimParam: ['string', 2] }),
  },
});

const ModelProto = root.lookupType('ModelProto');

export interface ModelMessage {
  irVersion: number;
  producerName: string;
  opsetImport: { domain: string; version: number }[];
  graph: object;
}

/** Encodes a model; throws when a field does not fit its type. */
export function encodeModel(model: ModelMessage): Uint8Array {
  const problem = ModelProto.verify(model);
  if (problem) throw new Error(`ONNX model: ${problem}`);
  return ModelProto.encode(ModelProto.create(model)).finish();
}
