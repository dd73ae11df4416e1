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
  const none = new KvCache(config, 1).past(0);
  for (const t of missing) {
    Object.assign(padded, keyFeeds('', t, none));
    padded[`ids.${t}`] = longs([0], [1]);
    padded[`positions.${t}`] = longs([0], [1]);
    padded[`past_positions.${t}`] = longs([], [0]);
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
