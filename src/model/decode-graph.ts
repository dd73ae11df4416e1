import { logSoftmax } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import { cachedAttention, type KeyValue } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';

/**
 * Tokens against the KV cache → log-probabilities of the next token.
 *
 * Inputs: `ids` `[batch, window]`, `cos`, `sin` `[batch, window, headDim / 2]`, `rows` `[scored]` (of
 * batch · window) whose next token is wanted, `last_key` int32 `[batch]`, `total_length` int32 `[]`, and per layer
 * `key.N`, `value.N` `[batch, kvHeads, capacity, headDim]`.
 * Outputs: `logprobs` `[scored, vocab]`, natural log, temperature 1, and the cache with the new tokens as
 * `present_key.N`, `present_value.N`: pass the input buffers as outputs, and it is written in place.
 */
export function buildDecodeGraph(source: ModelSource): Graph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const ids = g.input('ids', 'int64', ['batch', 'window']);
  const angles = ['batch', 'window', config.headDim / 2] as const;
  const rotary = { cos: g.input('cos', 'float32', angles), sin: g.input('sin', 'float32', angles) };
  const rows = g.input('rows', 'int64', ['scored']);
  const lastKey = g.input('last_key', 'int32', ['batch']);
  const totalLength = g.input('total_length', 'int32', []);
  const shape = ['batch', config.kvHeads, 'capacity', config.headDim] as const;
  const cache = Array.from({ length: config.layers }, (_, layer) => ({
    key: g.input(`key.${layer}`, 'float32', shape),
    value: g.input(`value.${layer}`, 'float32', shape),
  }));

  const present: KeyValue[] = [];
  const attention = cachedAttention(g, config, { rotary, cache, lastKey, totalLength }, present);
  const hidden = decoder.layers(decoder.embed(ids), attention);
  g.output('logprobs', logSoftmax(g, decoder.logits(hidden, rows)));
  present.forEach(({ key, value }, layer) => {
    g.output(`present_key.${layer}`, key);
    g.output(`present_value.${layer}`, value);
  });
  return g;
}
