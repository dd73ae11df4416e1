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
    const highest = logprobs[best]!;
    const weights = Float64Array.from(logprobs, (logprob) => Math.exp((logprob - highest) / temperature));
    if (topK === 0 && topP >= 1) return draw(weights, this.#uniform());
    const kept = nucleus(weights, topK || weights.length, topP);
    return kept[
      draw(
        Float64Array.from(kept, (id) => weights[id]!),
        this.#uniform(),
      )
    ]!;
  }

  #uniform(): number {
    return uniformFloat64(this.#random);
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

function argmax(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}

function draw(weights: Float64Array, uniform: number): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let left = uniform * total;
  for (let i = 0; i < weights.length; i++) {
    left -= weights[i]!;
    if (left < 0) return i;
  }
  return argmax(Float32Array.from(weights)); // rounding left a remainder
}

/** Ids of the tokens that top-k and then top-p keep, most probable first. */
function nucleus(weights: Float64Array, topK: number, topP: number): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  // Tokens below this bound add up to less than 1 − topP all together, so none of them is in the nucleus:
  // sorting the rest is enough, which matters for vocabularies of 10⁵.
  const bound = topK < weights.length ? 0 : ((1 - topP) * total) / weights.length;
  const ids: number[] = [];
  weights.forEach((weight, id) => {
    if (weight > bound) ids.push(id);
  });
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
