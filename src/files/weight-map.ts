import { ModelError, show } from './errors.js';
import { isRecord } from './json.js';

/**
 * Reads the index of a sharded checkpoint: tensor → shard. A shard is a plain file name; a path could leave the folder.
 *
 * @throws ModelError naming the tensor
 */
export function parseWeightMap(json: unknown, file: string): ReadonlyMap<string, string> {
  const weightMap = isRecord(json) ? json.weight_map : undefined;
  if (!isRecord(weightMap))
    throw new ModelError(file, 'weight_map', `expected an object, found ${show(weightMap)}`);
  const shards = new Map<string, string>();
  for (const [tensor, shard] of Object.entries(weightMap)) {
    if (typeof shard !== 'string' || !/^[^/\\:\0]+\.safetensors$/.test(shard)) {
      const problem = `expected a .safetensors file name, found ${show(shard)}`;
      throw new ModelError(file, `weight_map.${tensor}`, problem);
    }
    shards.set(tensor, shard);
  }
  return shards;
}
