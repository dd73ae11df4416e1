import type { ModelConfig } from '../../checkpoint/config.js';
import { KvCache } from '../kv-cache.js';
import { type Feeds, floats, longs } from '../ort-session.js';
import { count, keyFeeds } from './sequence-run.js';

/**
 * Inputs of a graph for more sequences than there are: others of one row follow them, of which nothing is scored. A graph
 * that takes its time to open is then opened once.
 */
export function paddedFeeds(feeds: Feeds, sequences: number, config: ModelConfig): Feeds {
  const missing = count(0, sequences).filter((t) => !feeds[`ids.${t}`]);
  const padded: Record<string, Feeds[string]> = { ...feeds };
  const cache = new KvCache(config, 1);
  for (const t of missing) {
    padded[`ids.${t}`] = longs([0], [1]);
    padded[`positions.${t}`] = longs([0], [1]);
    // As those that there are, it reads keys apart, or copies of them.
    if (feeds['past_positions.0']) {
      Object.assign(padded, keyFeeds('', t, cache.past(0)));
      padded[`past_positions.${t}`] = longs([], [0]);
    }
    if (feeds['inner_positions.0']) {
      Object.assign(padded, keyFeeds('inner_', t, cache.tensors(0, 0)));
      padded[`inner_positions.${t}`] = longs([], [0]);
    }
  }
  for (const name of Object.keys(feeds).filter((name) => /^(cos|sin)\./.test(name))) {
    const { data, dims } = feeds[name]!;
    const [, rows, width] = dims as [number, number, number];
    const angles = new Float32Array((rows + missing.length) * width);
    angles.set(data as Float32Array);
    padded[name] = floats(angles, [1, rows + missing.length, width]);
  }
  return padded;
}
