import type * as ort from 'onnxruntime-node';
import type { PassToken } from '../engine-messages.js';
import { KvCache } from '../kv-cache.js';
import { type Feeds, floats } from '../ort-session.js';
import { rowsPerRun } from '../run-limits.js';
import type { GraphRunners } from './graph-sessions.js';
import {
  ADVERSARY,
  type AttackedWindow,
  attackedFeeds,
  readTokens,
  STATISTICS,
  type Step,
  scoredFeeds,
  type Top,
} from './score-pass.js';
import { cacheNames, count, keyFeeds, type Runtime, runSequences } from './sequence-run.js';

/** A part of a window. */
interface Chunk extends AttackedWindow {
  /** Number of its first row in the whole pass. */
  readonly row: number;
}

/**
 * A score pass whose window is too long for one run, chunk by chunk of rows: clean forward into the cache; backward
 * through the cache, from the last chunk to the first; forward again, perturbed or with tangents. The numbers are those of
 * one run, up to rounding; it computes the forward pass once more, and for a derivative twice.
 */
export class ChunkedPass {
  readonly #context: { readonly sessions: GraphRunners; readonly runtime: Runtime };
  readonly #window: AttackedWindow;
  readonly #step: Step;
  readonly #top: Top;
  readonly #rounded: { readonly rounded?: true };

  constructor(
    context: { readonly sessions: GraphRunners; readonly runtime: Runtime },
    window: AttackedWindow,
    step: Step,
    { top, rounded = false }: Top & { readonly rounded?: boolean } = {},
  ) {
    this.#context = context;
    this.#window = window;
    this.#step = step;
    this.#top = top === undefined ? {} : { top };
    this.#rounded = rounded ? { rounded } : {};
  }

  /** Run by run. */
  *steps(): Generator<() => Promise<void>, PassToken[]> {
    const { cache, start, ids } = this.#window;
    const { hiddenSize } = this.#context.runtime.config;
    const chunks = this.#chunks();
    const hidden: Float32Array[] = [];
    for (const [i, chunk] of chunks.entries()) {
      yield async () => {
        hidden[i] = await this.#hidden(chunk);
      };
    }

    const gradient = new Float32Array(ids.length * hiddenSize);
    let later: Feeds | null = null;
    for (const chunk of chunks.toReversed()) {
      yield async () => {
        const { rows, earlier } = await this.#backward(chunk, later);
        gradient.set(rows, chunk.row * hiddenSize);
        later = earlier;
      };
    }
    const direction = gradient.map(sign);
    const rowsOf = (chunk: Chunk): Float32Array =>
      direction.subarray(chunk.row * hiddenSize, (chunk.row + chunk.ids.length) * hiddenSize);
    const tokens: PassToken[] = [];
    if (this.#step.form === 'derivative') {
      const moved = new KvCache(this.#context.runtime.config, ids.length);
      for (const chunk of chunks) {
        yield async () => {
          tokens.push(...(await this.#derive(chunk, rowsOf(chunk), moved)));
        };
      }
      return tokens;
    }
    const clean = cache.read(start, ids.length);
    let restored = false;
    try {
      for (const [i, chunk] of chunks.entries()) {
        const noise = rowsOf(chunk).map((x) => -this.#step.alpha * x);
        yield async () => {
          tokens.push(...(await this.#perturb(chunk, hidden[i]!, noise)));
        };
      }
      cache.write(start, ids.length, clean);
      restored = true;
      return tokens;
    } finally {
      if (!restored) cache.length = start; // what follows may be perturbed
    }
  }

  #chunks(): Chunk[] {
    const { cache, start, ids, targets, attacked, doubts } = this.#window;
    const end = start + ids.length;
    const firstScored = end - targets.length;
    const sizeOf = (scored: boolean): number =>
      rowsPerRun(this.#context.runtime, { keys: end, passes: 2, scored, backward: true });
    const unscored = parts(start, firstScored, sizeOf(false));
    const scored = parts(firstScored, end, sizeOf(true));
    return [...unscored, ...scored].map(([from, to]): Chunk => {
      const own = [Math.max(0, from - firstScored), Math.max(0, to - firstScored)] as const;
      const row = from - start;
      return {
        cache,
        start: from,
        ids: ids.slice(row, row + to - from),
        targets: targets.slice(...own),
        attacked: attacked.slice(...own),
        ...(doubts && { doubts: doubts.slice(...own) }),
        row,
      };
    });
  }

  /** Output of the last layer for the scored rows, `[scored, hidden]`. */
  async #hidden(chunk: Chunk): Promise<Float32Array> {
    const session = await this.#context.sessions.get({
      kind: 'forward',
      sequences: 1,
      result: 'hidden',
      ...this.#rounded,
    });
    const scored = atLeastOne(chunk);
    const { rows } = scoredFeeds([scored]);
    const result = await runSequences(session, this.#context.runtime, [scored], { rows: rows! }, ['hidden']);
    return result.floats('hidden');
  }

  async #backward(
    chunk: Chunk,
    later: Feeds | null,
  ): Promise<{ readonly rows: Float32Array; readonly earlier: Feeds }> {
    const { layers, kvHeads, headDim } = this.#context.runtime.config;
    const session = await this.#context.sessions.get({ kind: 'backward', ...this.#rounded });
    const scored = atLeastOne(chunk);
    const dims = [chunk.row + chunk.ids.length, kvHeads, headDim];
    const names = cacheNames('', 0, layers);
    const none = (): ort.Tensor => floats(new Float32Array(dims.reduce((a, b) => a * b)), dims);
    const feeds: Feeds = {
      ...attackedFeeds([scored]),
      ...Object.fromEntries(names.map((name) => [`d_${name}`, later?.[`d_${name}`] ?? none()])),
    };
    const wanted = ['gradient', ...names.map((name) => `d_inner_${name}`)];
    const part = { ...scored, inner: chunk.row };
    const result = await runSequences(session, this.#context.runtime, [part], feeds, wanted);
    const earlier = names.map((name) => [`d_${name}`, result.tensor(`d_inner_${name}`)] as const);
    return { rows: result.floats('gradient'), earlier: Object.fromEntries(earlier) };
  }

  async #perturb(chunk: Chunk, hidden: Float32Array, noise: Float32Array): Promise<PassToken[]> {
    const { hiddenSize } = this.#context.runtime.config;
    const spec = { kind: 'forward', sequences: 1, result: 'compare', noise: true, ...this.#top } as const;
    const session = await this.#context.sessions.get(spec);
    const scored = atLeastOne(chunk);
    const feeds: Feeds = {
      ...scoredFeeds([scored]),
      noise: floats(noise, [chunk.ids.length, hiddenSize]),
      clean_hidden: floats(hidden, [scored.targets.length, hiddenSize]),
    };
    const wanted = [...STATISTICS, ...ADVERSARY.perturb];
    const result = await runSequences(session, this.#context.runtime, [scored], feeds, wanted);
    return chunk.targets.length > 0 ? readTokens(result, wanted, [chunk], this.#step)[0]! : [];
  }

  /** @param moved derivatives of keys and values of the window, to which those of the chunk are added */
  async #derive(chunk: Chunk, direction: Float32Array, moved: KvCache): Promise<PassToken[]> {
    const { layers, hiddenSize } = this.#context.runtime.config;
    const spec = { kind: 'tangent', ...this.#top, ...this.#rounded } as const;
    const session = await this.#context.sessions.get(spec);
    const scored = atLeastOne(chunk);
    const { row, ids } = chunk;
    moved.reserve(row + ids.length);
    const { attacked: _, ...told } = attackedFeeds([scored]);
    const feeds: Feeds = {
      ...told,
      ...keyFeeds('d_inner_', 0, moved.tensors(0, row)),
      direction: floats(direction, [ids.length, hiddenSize]),
      alpha: floats(Float32Array.of(this.#step.alpha), [1]),
    };
    const changes = cacheNames('d_', 0, layers);
    const wanted = [...(session.outputNames.includes('logprob') ? STATISTICS : []), ...ADVERSARY.derivative];
    const part = { ...scored, inner: row };
    const result = await runSequences(session, this.#context.runtime, [part], feeds, [...wanted, ...changes]);
    moved.write(
      row,
      ids.length,
      changes.map((name) => result.floats(name)),
    );
    return chunk.targets.length > 0 ? readTokens(result, wanted, [chunk], this.#step)[0]! : [];
  }
}

/** Begin and end of each part of positions `from` to `to − 1`. */
function parts(from: number, to: number, size: number): (readonly [number, number])[] {
  return count(0, Math.ceil((to - from) / size)).map((i) => {
    const start = from + i * size;
    return [start, Math.min(to, start + size)] as const;
  });
}

/** onnxruntime dies of a division by zero when no row is scored: then the last one is, for nothing. */
function atLeastOne(chunk: Chunk): Chunk {
  if (chunk.targets.length > 0) return chunk;
  return { ...chunk, targets: [0], attacked: [false], ...(chunk.doubts && { doubts: [0] }) };
}

/** Sign as in the graphs: NaN stays NaN, so that a gradient that overflowed is not taken for zero. */
const sign = (x: number): number => (Number.isFinite(x) ? Math.sign(x) : Number.NaN);
