import { z } from 'zod';
import { type SequenceStep, told } from './connection.js';
import { ServerFault } from './server-fault.js';
import { type AnsweredTensor, datatypeOf, type readTensors, type SentTensor } from './tensors.js';

/**
 * Requests and answers of `POST v2/models/{model}/infer` with tensors as bytes: the Open Inference Protocol v2
 * (github.com/kserve/open-inference-protocol) with Triton's binary tensor data extension
 * (triton-inference-server/server, docs/protocol/extension_binary_data.md) and, for sequences, extension_sequence.md.
 * JSON comes first, then the tensors in its order: little-endian, row by row.
 */
export interface InferRequest {
  /** Bytes of the JSON, for the header `Inference-Header-Content-Length`. */
  readonly headerBytes: number;
  /** JSON and tensors. They are views: nothing is copied. */
  readonly parts: readonly Uint8Array[];
}

export function encodeInfer(
  inputs: ReadonlyMap<string, SentTensor>,
  outputs: readonly string[],
  sequence?: SequenceStep,
): InferRequest {
  const header = {
    inputs: Array.from(inputs, ([name, { type, dims, bytes }]) => ({
      name,
      shape: dims,
      datatype: datatypeOf(type),
      parameters: { binary_data_size: bytes.byteLength },
    })),
    outputs: outputs.map((name) => ({ name, parameters: { binary_data: true } })),
    parameters: {
      binary_data_output: true,
      ...(sequence && {
        sequence_id: sequence.id,
        sequence_start: sequence.start,
        sequence_end: sequence.end,
      }),
    },
  };
  const json = Buffer.from(JSON.stringify(header));
  const tensors = Array.from(inputs.values(), ({ bytes }) => bytes);
  return { headerBytes: json.byteLength, parts: [json, ...tensors] };
}

const answerSchema = z.object({
  model_name: z.string().optional(),
  outputs: z.array(
    z.object({
      name: z.string(),
      shape: z.array(z.int().min(0)),
      datatype: z.string(),
      parameters: z.object({ binary_data_size: z.int().min(0) }),
    }),
  ),
});

/**
 * Takes an answer apart.
 * @param headerBytes value of the header `Inference-Header-Content-Length`
 * @throws ServerFault where it is not of this form
 */
export function decodeInfer(body: Buffer, headerBytes: number): Parameters<typeof readTensors>[1] {
  const { model_name, outputs } = told(
    answerSchema,
    () => JSON.parse(body.subarray(0, headerBytes).toString()),
    'the answer',
  );
  let offset = headerBytes;
  const tensors = outputs.map(({ parameters, ...told }): AnsweredTensor => {
    const from = offset;
    offset += parameters.binary_data_size;
    if (offset > body.byteLength) throw new ServerFault('the answer is too short');
    return { ...told, bytes: body.subarray(from, offset) };
  });
  if (offset !== body.byteLength)
    throw new ServerFault(`the answer has ${body.byteLength - offset} bytes too many`);
  return { model: model_name, outputs: tensors };
}
