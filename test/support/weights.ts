import type { Checkpoint } from '#src/checkpoint/checkpoint.js';
import type { StoredTensor } from '#src/checkpoint/safetensors.js';
import { weightValues } from '#src/checkpoint/weight-values.js';
import type { Weight, Weights } from '#src/checkpoint/weights.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { runForward } from '#src/engine/child/score-pass.js';
import { runtimeOf } from '#src/engine/child/sequence-run.js';
import { KvCache } from '#src/engine/kv-cache.js';

/** A weight that is stored in floating point. */
export function storedWeight({ tensors }: { readonly tensors: Weights }, name: string): StoredTensor {
  const weight = tensors.get(name);
  if (!weight || weight.type === 'packed') throw new Error(`${name} is not stored in floating point`);
  return weight;
}

/** All values of a weight. */
export async function valuesOf(weight: Weight): Promise<Float32Array> {
  const parts: Float32Array[] = [];
  for await (const values of weightValues(weight)) parts.push(values);
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

/** Log-probabilities of all tokens of a text but the first. */
export async function logprobsOf(checkpoint: Checkpoint, ids: readonly number[]): Promise<number[]> {
  const graph = { kind: 'forward', sequences: 1, result: 'statistics' } as const;
  const session = await new Sessions(checkpoint, { threads: 1 }).get(graph);
  const cache = new KvCache(checkpoint.config, ids.length);
  const window = { start: 0, ids: ids.slice(0, -1), targets: ids.slice(1), cache };
  const [tokens] = await runForward(session, runtimeOf({ source: checkpoint, threads: 1 }), [window]);
  return tokens!.map(({ probability }) => probability!.logprob);
}
