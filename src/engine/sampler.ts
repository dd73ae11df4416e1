import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { GenerationDefaults } from '../checkpoint/generation-config.js';

/** How the next token is drawn. Log-probabilities that are reported never depend on it. */
export interface Sampling {
  /** 0 is greedy. */
  readonly temperature: number;
  /** Keep the k most probable tokens; 0 keeps all. */
  readonly topK: number;
  /** Keep the smallest set of most probable tokens whose probability reaches this (Holtzman et al., 2020). */
  readonly topP: number;
  /** A 32-bit integer: the same seed draws the same tokens. */
  readonly seed: number;
}

/** Sampling of generation_config.json; a model whose file does not set `do_sample` is greedy. */
export function samplingDefaults({
  sample,
  temperature,
  topK,
  topP,
}: GenerationDefaults): Omit<Sampling, 'seed'> {
  return { temperature: sample ? (temperature ?? 1) : 0, topK: topK ?? 0, topP: topP ?? 1 };
}

export interface TokenLogprob {
  readonly id: number;
  /** Natural log, temperature 1. */
  readonly logprob: number;
}

/** Draws tokens from log-probabilities `[vocab]`: temperature, then top-k, then top-p. */
export class Sampler {
  readonly #sampling: Sampling;
  readonly #random: ReturnType<typeof mersenne>;

  constructor(sampling: Sampling) {
    this.#sampling = sampling;
    this.#random = mersenne(sampling.seed);
  }

  sample(logprobs: Float32Array): number {
    const { temperature, topK, topP } = this.#sampling;
    const best = argmax(logprobs);
    if (temperature === 0) return best;
    const weights = weightsOf(logprobs, logprobs[best]!, temperature);
    if (topK === 0 && topP >= 1) return draw(weights, uniformFloat64(this.#random));
    const kept = nucleus(weights, topK || weights.length, topP);
    const shares = Float64Array.from(kept, (id) => weights[id]!);
    return kept[draw(shares, uniformFloat64(this.#random))]!;
  }
}

/** The k most probable tokens, best first; ties in the order of their ids. */
export function topTokens(logprobs: Float32Array, k: number): TokenLogprob[] {
  const best: TokenLogprob[] = [];
  if (k === 0) return best;
  logprobs.forEach((logprob, id) => {
    if (best.length === k && logprob <= best[k - 1]!.logprob) return;
    const place = best.findIndex((other) => other.logprob < logprob);
    best.splice(place < 0 ? best.length : place, 0, { id, logprob });
    if (best.length > k) best.pop();
  });
  return best;
}

/** e to the power of this, times any vocabulary, is lost in the rounding of a sum of about 1. */
const NOTHING = -60;

/** Relative probabilities of all tokens. A loop: `Float64Array.from` takes 30 ms for 150,000 tokens. */
function weightsOf(logprobs: Float32Array, highest: number, temperature: number): Float64Array {
  const weights = new Float64Array(logprobs.length);
  for (let i = 0; i < logprobs.length; i++) {
    const exponent = (logprobs[i]! - highest) / temperature;
    if (exponent > NOTHING) weights[i] = Math.exp(exponent);
  }
  return weights;
}

function argmax(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}

function draw(weights: Float64Array, uniform: number): number {
  let left = uniform * sumOf(weights);
  for (let i = 0; i < weights.length; i++) {
    left -= weights[i]!;
    if (left < 0) return i;
  }
  return argmax(Float32Array.from(weights)); // rounding left a remainder
}

function sumOf(weights: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += weights[i]!;
  return sum;
}

/** Ids of the tokens that top-k and then top-p keep, most probable first. */
function nucleus(weights: Float64Array, topK: number, topP: number): number[] {
  const total = sumOf(weights);
  // Tokens below this bound add up to less than 1 − topP all together, so none of them is in the nucleus:
  // sorting the rest is enough, which matters for vocabularies of 10⁵.
  const limited = topK < weights.length;
  const bound = limited ? kthLargest(weights, topK) : ((1 - topP) * total) / weights.length;
  const ids: number[] = [];
  for (let id = 0; id < weights.length; id++) {
    const weight = weights[id]!;
    if (weight > bound || (limited && weight === bound && weight > 0)) ids.push(id);
  }
  ids.sort((a, b) => weights[b]! - weights[a]! || a - b);
  ids.length = Math.min(ids.length, topK);
  const mass = topP * (topK < weights.length ? ids.reduce((sum, id) => sum + weights[id]!, 0) : total);
  let reached = 0;
  const end = ids.findIndex((id) => {
    reached += weights[id]!;
    return reached >= mass;
  });
  return end < 0 ? ids : ids.slice(0, end + 1);
}

/** Up to this k, insertion into a list is faster than sorting everything. */
const FEW = 256;

function kthLargest(weights: Float64Array, k: number): number {
  if (k > FEW) return weights.toSorted()[weights.length - k]!;
  const largest = new Float64Array(k); // ascending
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!;
    if (weight <= largest[0]!) continue;
    let place = 0;
    for (; place + 1 < k && largest[place + 1]! < weight; place++) largest[place] = largest[place + 1]!;
    largest[place] = weight;
  }
  return largest[0]!;
}
