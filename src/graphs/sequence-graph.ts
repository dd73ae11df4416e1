import { sign } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import { tangents } from '../onnx/jvp.js';
import type { Value } from '../onnx/onnx-types.js';
import { gradients } from '../onnx/vjp.js';
import { causalMasks, joinPositions, NOWHERE, windowAttention } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';
import {
  declareKeys,
  declareRotary,
  declareSequences,
  type KeyValue,
  type SequenceBatch,
} from './sequence-batch.js';
import { logitGradient, outputDerivative, outputStatistics } from './statistics-graph.js';

/**
 * A score pass over a sequence whose keys and values stay where the graph runs: an inference server hands `present_*` of
 * one run to `key.*` and `value.*` of the next. One graph does all that a sequence needs, as such a state belongs to
 * one model.
 *
 * First it reads the rows of `lead_ids`, plainly: the prompt, or what follows what is kept. Then comes the window, as in
 * the score graph (`buildScoreGraph`, form `derivative`). A row of the lead can be scored too, and then has no adversary.
 *
 * Inputs: those of {@link declareSequences} for one sequence, the window; the state, per layer `key.0.layer` and
 * `value.0.layer` `[held, kvHeads, headDim]`, of which the first is a key that no row sees; `positions.0` int64 `[rows.0]`;
 * `past_positions.0` int64 `[past.0]`, 0 to past − 1: as many of the positions held are kept, the others are
 * forgotten; `lead_ids`, `lead_positions` int64 `[lead]`, and per rope r `lead_cos.r`, `lead_sin.r`
 * `[1, lead, dimensions / 2]`; `rows`, `targets`, `attacked` `[scored]` as in the score graph, with rows counted from
 * the first of the lead; `alpha` `[1]`.
 *
 * Outputs: those of the score graph but for `window_*`; `held` int64 `[1]`, the positions that were held before the run;
 * and per layer `present_key.0.layer`, `present_value.0.layer` `[1 + past + lead + rows, kvHeads, headDim]`, clean.
 */
export function buildSequenceGraph(source: ModelSource): Graph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const window = declareSequences(g, config, 1);
  const cache = declareKeys(g, config, 'held.0', { index: 0 });
  const kept = g.input('past_positions.0', 'int64', ['past.0']);
  const leadPositions = g.input('lead_positions', 'int64', ['lead']);
  const lead = withFirstRow(g, {
    ids: g.input('lead_ids', 'int64', ['lead']),
    rotary: declareRotary(g, config, 'lead', 'lead_'),
  });
  const positions = g.input('positions.0', 'int64', ['rows.0']);
  const rows = g.input('rows', 'int64', ['scored']);
  const targets = g.input('targets', 'int64', ['scored']);
  const attacked = g.input('attacked', 'float32', ['scored']);
  const alpha = g.input('alpha', 'float32', [1]);

  const held = g.node('Shape', [cache[0]!.key], { start: 0, end: 1 }, [{ type: 'int64', shape: [1] }]);
  g.output('held', g.op('Sub', [held[0]!, g.ints([1])]));
  // The first key held is that of the first row. A server does not say what is in a state that begins.
  const before = cache.map((layer) => eachOf(layer, (x) => g.slice(x, 0, [1], 'past.0')));
  const rowPositions = g.op('Concat', [g.ints([NOWHERE]), leadPositions], { axis: 0 });
  const leads = { past: [], inner: [before], masks: [causalMasks(g, config, rowPositions, [kept])] };
  const past: KeyValue[] = [];
  const reading = windowAttention(g, config, lead, leads, (_, layer, { key, value }) => {
    const [firstKey, keys] = g.split(key, 0, [1, 'lead']);
    const [firstValue, values] = g.split(value, 0, [1, 'lead']);
    const first = { key: firstKey!, value: firstValue! };
    past[layer] = joinPositions(g, first, before[layer]!, { key: keys!, value: values! });
  });
  const read = g.slice(decoder.layers(decoder.embed(lead.ids), reading), 0, [1], 'lead');

  const masks = causalMasks(g, config, positions, [g.ints([NOWHERE]), kept, leadPositions]);
  const windows = { past: [past], inner: [], masks: [masks] };
  const embeddings = decoder.embed(window.ids);
  const attention = windowAttention(g, config, window, windows, (_, layer, present) => {
    const whole = joinPositions(g, past[layer]!, present);
    g.output(`present_key.0.${layer}`, whole.key);
    g.output(`present_value.0.${layer}`, whole.value);
  });
  const hidden = g.op('Concat', [read, decoder.layers(embeddings, attention)], { axis: 0 });
  const logits = decoder.logits(hidden, rows);
  const probabilities = outputStatistics(g, { logits, targets });
  const seed = logitGradient(g, probabilities, targets, attacked);
  const [gradient] = gradients(g, [{ value: logits, seed }], [embeddings]);
  const [slope] = tangents(g, [{ value: embeddings, tangent: sign(g, gradient!) }], [logits]);
  outputDerivative(g, probabilities, { slope: slope!, alpha }, targets);
  return g;
}

/** The rows of a lead, which may have none, behind one that no row sees: onnxruntime dies of products without a row. */
function withFirstRow(g: Graph, { ids, rotary }: Pick<SequenceBatch, 'ids' | 'rotary'>): SequenceBatch {
  const behind = (angles: Value): Value => {
    const [, , size] = angles.shape;
    const none = g.floats(Array(Number(size)).fill(0), [1, 1, Number(size)]);
    return g.op('Concat', [none, angles], { axis: 1 });
  };
  return {
    ids: g.op('Concat', [g.ints([0]), ids], { axis: 0 }),
    rotary: rotary.map(({ cos, sin }) => ({ cos: behind(cos), sin: behind(sin) })),
    sequences: [{ index: 1, rows: '1+lead' }],
  };
}

const eachOf = ({ key, value }: KeyValue, change: (x: Value) => Value): KeyValue => ({
  key: change(key),
  value: change(value),
});
