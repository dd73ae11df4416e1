import type { Value } from '../../onnx/onnx-types.js';
import type { ModelMetadata, ServerConnection } from './connection.js';
import type { Signature } from './served-graphs.js';
import { ServerFault } from './server-fault.js';
import { datatypeOf } from './tensors.js';

/** @throws ServerFault unless the server and the model are ready, and the model is this graph */
export async function checkModel(
  server: ServerConnection,
  model: string,
  signature: Signature,
): Promise<void> {
  await server.ready(model);
  const metadata = await server.metadata(model);
  for (const side of ['inputs', 'outputs'] as const) {
    const problem = difference(metadata[side], signature[side]);
    if (problem !== null) throw new ServerFault(`${model} is another model: ${side}: ${problem}`);
  }
}

/** Whether the server keeps the model's state from run to run: by its configuration. @throws ServerFault */
export async function keepsState(
  server: ServerConnection,
  model: string,
  { states }: Signature,
): Promise<boolean> {
  const config = await server.config(model);
  const kept = new Map(
    config?.sequence_batching?.state.map(({ input_name, output_name }) => [input_name, output_name]),
  );
  return states.length > 0 && states.every(({ input, output }) => kept.get(input.name) === output.name);
}

/** −1 is any size. */
function difference(inputs: ModelMetadata['inputs'], values: readonly Value[]): string | null {
  const byName = new Map(inputs.map((tensor) => [tensor.name, tensor]));
  for (const { name, type, shape } of values) {
    const tensor = byName.get(name);
    if (!tensor) return `${name} is missing`;
    if (tensor.datatype !== datatypeOf(type)) return `${name} is ${tensor.datatype}`;
    const fits =
      tensor.shape.length === shape.length &&
      shape.every((dim, axis) => tensor.shape[axis] === -1 || tensor.shape[axis] === dim);
    if (!fits) return `${name} has shape [${tensor.shape}]`;
    byName.delete(name);
  }
  const [extra] = byName.keys();
  return extra === undefined ? null : `${extra} is unknown`;
}
