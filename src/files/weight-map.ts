import { z } from 'zod';
import { show } from './file-errors.js';
import { isRecord, parseJson } from './json.js';

/** A plain file name: a path could leave the folder. */
const shard = z.custom<string>((name) => typeof name === 'string' && /^[^/\\:\0]+\.safetensors$/.test(name), {
  error: ({ input }) => `expected a .safetensors file name, found ${show(input)}`,
});
const schema = z.record(z.string(), shard, 'expected an object');

/**
 * Reads the index of a sharded checkpoint: tensor → shard.
 * @throws ModelError naming the tensor
 */
export const parseWeightMap = (json: unknown, file: string): ReadonlyMap<string, string> =>
  new Map(Object.entries(parseJson(schema, isRecord(json) ? json.weight_map : null, file, ['weight_map'])));
