import type * as ort from 'onnxruntime-node';
import type { KvCache } from '../kv-cache.js';
import { type Feeds, floats } from '../ort-session.js';
import type { PassToken } from '../protocol.js';
import { rowsPerRun } from '../run-limits.js';
import type { GraphRunners } from './graph-sessions.js';
import {
  ADVERSARY,
  type AttackedWindow,
  readTokens,
  STATISTICS,
  type Step,
  scoredFeeds,
  type Top,
  type Window,
} from './score-pass.js';
import { cacheNames, count, keyFeeds, type Runtime, runSequences } from './sequence-run.js';

/** A part of a window, or of the positions before it that are perturbed, too. */
interface Chunk extends Window {
  readonly attacked: readonly boolean[];
  /** Number of its first row in the whole pass. */
  readonly row: number;
  /** Position from which on what is perturbed is one piece with it. */
  readonly from: number;
}

/**
 * A score pass whose window is too long for one run, chunk by chunk of rows: clean forward into the cache; backward
 * through the cache, from the last chunk to the first; perturbed forward, or the derivative. The numbers are those
 * of one run, up to rounding; it computes the forward pass once more.
 */
export class ChunkedPass {
  readonly #sessions: GraphRunners;
  readonly #runtime: Runtime;
  readonly #window: AttackedWindow;
  readonly #step: Step;
  readonly #top: Top;

  constructor(
    { sessions, runtime }: { readonly sessions: GraphRunners; readonly runtime: Runtime },
    window: AttackedWindow,
    step: Step,
    top: Top = {},
  ) {
    this.#sessions = sessions;
    this.#runtime = runtime;
    this.#window = window;
    this.#step = step;
    this.#top = top;
  }

  /** Run by run. */
  *steps(): Generator<() => Promise<void>, PassToken[]> {
    const { cache, start, lead, ids } = this.#window;
    const { hiddenSize } = this.#runtime.config;
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
    const { form, alpha } = this.#step;
    const tangents = cache.empty();
    const before = lead ? lead[1] - lead[0] : 0;
    tangents.reserve(start + ids.length - before);
    const clean = {
      before: cache.read(lead?.[0] ?? 0, before),
      window: cache.read(start, ids.length - before),
    };
    const tokens: PassToken[] = [];
    let restored = false;
    try {
      for (const [i, chunk] of chunks.entries()) {
        const from = chunk.row * hiddenSize;
        const change = direction.subarray(from, from + chunk.ids.length * hiddenSize);
        yield async () => {
          const scored =
            form === 'perturb'
              ? await this.#perturb(
                  chunk,
                  hidden[i]!,
                  change.map((x) => -alpha * x),
                )
              : await this.#derive(chunk, tangents, change);
          tokens.push(...scored);
        };
      }
      if (lead) cache.write(lead[0], before, clean.before);
      cache.write(start, ids.length - before, clean.window);
      restored = true;
      return tokens;
    } finally {
      if (!restored) cache.length = lead?.[0] ?? start; // what follows may be perturbed
    }
  }

  #chunks(): Chunk[] {
    const { cache, start, lead = [start, start], ids, targets, attacked } = this.#window;
    const before = lead[1] - lead[0];
    const end = start + ids.length - before;
    const firstScored = end - targets.length;
    const sizeOf = (scored: boolean): number =>
      rowsPerRun(this.#runtime, { keys: end, passes: 2, scored, backward: true });
    const unscored = parts(start, firstScored, sizeOf(false));
    const scored = parts(firstScored, end, sizeOf(true));
    const ofLead = parts(...lead, sizeOf(false)).map(([from, to]): Chunk => {
      const row = from - lead[0];
      const rows = ids.slice(row, to - lead[0]);
      return { cache, start: from, ids: rows, targets: [], attacked: [], row, from: lead[0] };
    });
    const ofWindow = [...unscored, ...scored].map(([from, to]): Chunk => {
      const own = [Math.max(0, from - firstScored), Math.max(0, to - firstScored)] as const;
      const row = before + from - start;
      return {
        cache,
        start: from,
        ids: ids.slice(row, row + to - from),
        targets: targets.slice(...own),
        attacked: attacked.slice(...own),
        row,
        from: start,
      };
    });
    return [...ofLead, ...ofWindow];
  }

  /** Output of the last layer for the scored rows, `[scored, hidden]`. */
  async #hidden(chunk: Chunk): Promise<Float32Array> {
    const session = await this.#sessions.get({ kind: 'forward', sequences: 1, result: 'hidden' });
    const scored = atLeastOne(chunk);
    const { rows } = scoredFeeds([scored]);
    const result = await runSequences(session, this.#runtime, [scored], { rows: rows! }, ['hidden']);
    return result.floats('hidden');
  }

  async #backward(
    chunk: Chunk,
    later: Feeds | null,
  ): Promise<{ readonly rows: Float32Array; readonly earlier: Feeds }> {
    const { layers, kvHeads, headDim } = this.#runtime.config;
    const session = await this.#sessions.get({ kind: 'backward' });
    const scored = atLeastOne(chunk);
    const inner = chunk.start - chunk.from;
    const dims = [chunk.row + chunk.ids.length, kvHeads, headDim];
    const names = cacheNames('', 0, layers);
    const none = (): ort.Tensor => floats(new Float32Array(dims.reduce((a, b) => a * b)), dims);
    const feeds: Feeds = {
      ...scoredFeeds([scored]),
      attacked: floats(Float32Array.from(scored.attacked, Number), [scored.attacked.length]),
      ...Object.fromEntries(names.map((name) => [`d_${name}`, later?.[`d_${name}`] ?? none()])),
    };
    const wanted = ['gradient', ...names.map((name) => `d_inner_${name}`)];
    const { start, lead } = this.#window;
    const part = { ...scored, inner, ...(lead && chunk.from === start && { innerLead: lead }) };
    const result = await runSequences(session, this.#runtime, [part], feeds, wanted);
    const earlier = names.map((name) => [`d_${name}`, result.tensor(`d_inner_${name}`)] as const);
    return { rows: result.floats('gradient'), earlier: Object.fromEntries(earlier) };
  }

  async #perturb(chunk: Chunk, hidden: Float32Array, noise: Float32Array): Promise<PassToken[]> {
    const { hiddenSize } = this.#runtime.config;
    const spec = { kind: 'forward', sequences: 1, result: 'compare', noise: true, ...this.#top } as const;
    const session = await this.#sessions.get(spec);
    const scored = atLeastOne(chunk);
    const feeds: Feeds = {
      ...scoredFeeds([scored]),
      noise: floats(noise, [chunk.ids.length, hiddenSize]),
      clean_hidden: floats(hidden, [scored.targets.length, hiddenSize]),
    };
    const wanted = [...STATISTICS, ...ADVERSARY.perturb];
    const result = await runSequences(session, this.#runtime, [scored], feeds, wanted);
    return chunk.targets.length > 0 ? readTokens(result, [chunk], this.#step)[0]! : [];
  }

  async #derive(chunk: Chunk, tangents: KvCache, direction: Float32Array): Promise<PassToken[]> {
    const { hiddenSize, layers } = this.#runtime.config;
    const session = await this.#sessions.get({ kind: 'tangent', rival: true, ...this.#top });
    const scored = atLeastOne(chunk);
    const { start, ids } = chunk;
    const feeds: Feeds = {
      ...scoredFeeds([scored]),
      noise: floats(direction, [ids.length, hiddenSize]),
      alpha: floats(Float32Array.of(this.#step.alpha), [1]),
      ...keyFeeds('tangent_', 0, tangents.past(start)),
    };
    const changes = cacheNames('window_tangent_', 0, layers);
    const wanted = [...STATISTICS, ...ADVERSARY.derivative, ...changes];
    const result = await runSequences(session, this.#runtime, [scored], feeds, wanted);
    tangents.write(
      start,
      ids.length,
      changes.map((name) => result.floats(name)),
    );
    return chunk.targets.length > 0 ? readTokens(result, [chunk], this.#step)[0]! : [];
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
  return chunk.targets.length > 0 ? chunk : { ...chunk, targets: [0], attacked: [false] };
}

/** Sign as in the graphs: NaN stays NaN, so that a gradient that overflowed is not taken for zero. */
const sign = (x: number): number => (Number.isFinite(x) ? Math.sign(x) : Number.NaN);
