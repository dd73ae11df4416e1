import type * as ort from 'onnxruntime-node';
import type { ModelConfig } from '../../checkpoint/config.js';
import { Graph } from '../../onnx/graph.js';
import type { KvCache, Past } from '../kv-cache.js';
import { floats, longs, openSession, type Session, type SessionOptions } from '../ort-session.js';

type Shape = Pick<ModelConfig, 'layers' | 'kvHeads' | 'headDim'>;

/** Bytes on the device. */
const LIMIT = 2 ** 30;

interface Copy {
  length: number;
  /** Tensors as {@link KvCache.past} returns them. */
  tensors: readonly ort.Tensor[];
}

/**
 * Copies of caches on a GPU, through WebGPU, so that a run brings there only the positions that it has not seen. The
 * copies used longest ago go first; one that is gone is made again.
 */
export class DeviceKeys {
  readonly #shape: Shape;
  readonly #options: Pick<SessionOptions, 'threads'>;
  readonly #limit: number;
  readonly #copies = new WeakMap<KvCache, Copy>();
  /** Copies in the order of use. */
  readonly #used = new Set<Copy>();
  readonly #ended = new FinalizationRegistry<Copy>((copy) => this.#drop(copy));
  /** Sessions by whether the copy is shortened first. */
  readonly #extenders = new Map<boolean, Promise<Session>>();

  /** @param limit bytes on the device; the copies in use may exceed it */
  constructor(shape: Shape, options: Pick<SessionOptions, 'threads'>, limit = LIMIT) {
    this.#shape = shape;
    this.#options = options;
    this.#limit = limit;
  }

  get bytes(): number {
    return [...this.#used].reduce((sum, { length }) => sum + this.#bytesOf(length), 0);
  }

  /**
   * The first `count` positions of each cache as {@link KvCache.past} has them. Good for one run: the next call may end
   * them.
   */
  async past(sequences: readonly Past[]): Promise<readonly (readonly ort.Tensor[])[]> {
    const copies: Copy[] = [];
    for (const { cache, count } of sequences) copies.push(await this.#upTo(cache, count));
    for (const oldest of this.#used) {
      if (this.bytes <= this.#limit) break;
      if (!copies.includes(oldest)) this.#drop(oldest);
    }
    return sequences.map(({ cache, count }, i) => (count === 0 ? cache.past(0) : copies[i]!.tensors));
  }

  async #upTo(cache: KvCache, count: number): Promise<Copy> {
    const copy = this.#copyOf(cache);
    if (count === 0) return copy;
    const intact = Math.min(copy.length, cache.intact);
    if (copy.length !== count || intact !== count) {
      // At least one position is copied: some operators of onnxruntime crash on zero rows.
      const kept = Math.min(intact, count - 1);
      const held = kept > 0 ? copy : { length: 0, tensors: cache.past(0) };
      const tensors = await this.#extended(held, kept, cache.tensors(kept, count - kept));
      this.#drop(copy);
      Object.assign(copy, { length: count, tensors });
      cache.intact = count;
    }
    this.#used.delete(copy);
    this.#used.add(copy);
    return copy;
  }

  #copyOf(cache: KvCache): Copy {
    const known = this.#copies.get(cache);
    if (known) return known;
    const copy: Copy = { length: 0, tensors: [] };
    this.#copies.set(cache, copy);
    this.#ended.register(cache, copy);
    return copy;
  }

  #drop(copy: Copy): void {
    this.#used.delete(copy);
    for (const tensor of copy.tensors) tensor.dispose();
    Object.assign(copy, { length: 0, tensors: [] });
  }

  #bytesOf(length: number): number {
    const { layers, kvHeads, headDim } = this.#shape;
    return 2 * layers * (1 + length) * kvHeads * headDim * Float32Array.BYTES_PER_ELEMENT;
  }

  /** The first `kept` positions of what is held, then more. */
  async #extended(
    { length, tensors }: Copy,
    kept: number,
    more: readonly ort.Tensor[],
  ): Promise<ort.Tensor[]> {
    const cut = kept < length;
    const session = this.#extenders.get(cut) ?? this.#open(cut);
    this.#extenders.set(cut, session);
    session.catch(() => this.#extenders.delete(cut));
    const feeds = Object.fromEntries([
      ...tensors.map((tensor, i) => [`held.${i}`, tensor] as const),
      ['more', stacked(more)] as const,
      ...(cut ? [['kept', longs([1 + kept], [1])] as const] : []),
    ]);
    const outputs = await (await session).run(feeds);
    return tensors.map((_, i) => outputs[`present.${i}`]!);
  }

  #open(cut: boolean): Promise<Session> {
    const { layers, kvHeads, headDim } = this.#shape;
    const g = new Graph();
    const [from, axis] = [g.ints([0]), g.ints([0])];
    const to = cut ? g.input('kept', 'int64', [1]) : null;
    const shape = ['kept', kvHeads, headDim];
    const more = g.input('more', 'float32', [2 * layers, 'more', kvHeads, headDim]);
    for (let i = 0; i < 2 * layers; i += 1) {
      const held = g.input(`held.${i}`, 'float32', ['held', kvHeads, headDim]);
      const first = to ? g.node('Slice', [held, from, to, axis], {}, [{ type: 'float32', shape }])[0]! : held;
      const rest = g.op('Gather', [more, g.ints([i], [])], { axis: 0 });
      g.output(`present.${i}`, g.op('Concat', [first, rest], { axis: 0 }));
    }
    return openSession(g, { threads: this.#options.threads, keepOnDevice: true });
  }
}

/** Tensors of one shape as one: each that is brought to the device takes its time. */
export function stacked(tensors: readonly ort.Tensor[]): ort.Tensor {
  const { size, dims } = tensors[0]!;
  const data = new Float32Array(tensors.length * size);
  for (const [i, tensor] of tensors.entries()) data.set(tensor.data as Float32Array, i * size);
  return floats(data, [tensors.length, ...dims]);
}
