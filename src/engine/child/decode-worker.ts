import { setImmediate } from 'node:timers/promises';
import type { ModelSource } from '../../graphs/decoder.js';
import { tokenStatistics } from '../../numerics/token-statistics.js';
import type { Device } from '../device.js';
import type { FromDecode, GenerateMessage } from '../engine-messages.js';
import { KvCache } from '../kv-cache.js';
import { longs } from '../ort-session.js';
import { rowsPerRun } from '../run-limits.js';
import { Sampler, topTokens } from '../sampler.js';
import type { PlainSpec, Sessions } from './graph-sessions.js';
import { LEAST_ROOM, PIECE, PrefixCache, piece, portion } from './prefix-cache.js';
import { type Runtime, runSequences, runtimeOf } from './sequence-run.js';

/** Prompt tokens in a run in which others write. */
const PREFILL_BESIDE = PIECE;

interface Stream {
  readonly request: GenerateMessage;
  readonly sampler: Sampler;
  readonly cache: KvCache;
  /** Tokens that the model has not seen yet: the rest of the prompt, then the last token drawn. */
  pending: readonly number[];
  generated: number;
  credit: number;
}

/** A stream and the tokens that it brings to a run. */
interface Turn {
  readonly stream: Stream;
  readonly ids: readonly number[];
}

/**
 * The graph of a run with so many rows of each sequence. A prompt that is read alone comes to the same bits however it is
 * cut. Where every graph holds the weights once more (integers, CUDA) it is one for both: with integers, prompts are read in
 * pieces. WebGPU reads keys apart in all.
 */
export function decodeGraph(
  rows: readonly number[],
  source: Pick<ModelSource, 'integers' | 'rounded'>,
  device: Device = 'cpu',
): PlainSpec {
  const apart = device === 'cpu' && (inPieces(source) || rows.length > 1 || rows[0] === 1);
  const more = { ...(apart && { apart }), ...(source.rounded && { rounded: true }) };
  return { kind: 'forward', sequences: rows.length, result: 'logprobs', ...more };
}

const inPieces = ({ integers }: Pick<ModelSource, 'integers'>): boolean =>
  integers !== undefined && integers.size > 0;

export interface DecodeWorkerOptions {
  readonly sessions: Pick<Sessions, 'get' | 'batchSize'>;
  readonly source: ModelSource;
  readonly threads: number;
  readonly device?: Device;
  readonly contextLength: number;
  /** Memory for keys and values of earlier prompts; 0 by default. */
  readonly prefixCacheBytes?: number;
  readonly send: (message: FromDecode) => void;
}

/**
 * Generates several sequences, as many as may go on in each run. Between two runs the event loop is free: that is when
 * cancellations and credit arrive.
 */
export class DecodeWorker {
  readonly #options: DecodeWorkerOptions;
  readonly #runtime: Runtime;
  readonly #streams = new Map<number, Stream>();
  /** Streams that have ended and may be continued. */
  readonly #retained = new Map<number, Stream>();
  readonly #inPieces: boolean;
  readonly #prefixes: PrefixCache;
  #running = false;

  constructor(options: DecodeWorkerOptions) {
    this.#options = options;
    this.#runtime = runtimeOf(options);
    this.#inPieces = inPieces(options.source);
    this.#prefixes = new PrefixCache(options.prefixCacheBytes ?? 0, this.#inPieces ? PIECE : undefined);
  }

  generate(request: GenerateMessage): void {
    const { stream, past, promptIds } = request;
    const known = past && (this.#streams.get(past.stream) ?? this.#retained.get(past.stream))?.cache;
    if (past && (known?.length ?? 0) < past.length) {
      const message = `stream ${past.stream} does not hold ${past.length} positions to continue`;
      this.#options.send({ type: 'failed', stream, message });
      return;
    }
    const cache = past && known ? known.fork(past.length) : this.#read(request);
    this.#options.send({ type: 'begun', stream, cachedTokens: past ? 0 : cache.length });
    this.#streams.set(stream, {
      request,
      sampler: new Sampler(request.sampling),
      cache,
      pending: past ? promptIds : promptIds.slice(cache.length),
      generated: 0,
      credit: request.credit,
    });
    void this.#run();
  }

  /** A cache that holds the longest known beginning of the prompt. */
  #read({ client, promptIds }: GenerateMessage): KvCache {
    const found = client ? this.#prefixes.find(client, promptIds) : null;
    return found ?? new KvCache(this.#options.source.config, this.#options.contextLength);
  }

  /** Keeps the prompt, as far as it was read. The response is not kept: it is read one row at a time. */
  #keep({ request: { client, past, promptIds }, cache }: Stream): void {
    if (client && !past) this.#prefixes.keep(client, promptIds.slice(0, cache.length), cache);
  }

  credit(id: number, tokens: number): void {
    const stream = this.#streams.get(id);
    if (stream) stream.credit += tokens;
    void this.#run();
  }

  cancel(id: number): void {
    const stream = this.#streams.get(id) ?? this.#retained.get(id);
    if (stream) this.#keep(stream);
    this.#streams.delete(id);
    this.#retained.delete(id);
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (let turns = this.#next(); turns.length > 0; turns = this.#next()) {
      await this.#step(turns);
      await setImmediate();
    }
    this.#running = false;
  }

  /** The streams that have waited longest among those that can go on; they move to the end of the queue. */
  #next(): Turn[] {
    const turns: Turn[] = [];
    let room = this.#room();
    for (const stream of this.#streams.values()) {
      const prefill = stream.pending.length > 1;
      const some = this.#inPieces ? piece : portion;
      const count = prefill ? some(stream.cache.length, stream.pending.length, room) : 1;
      if (stream.credit === 0 || count === 0) continue;
      const ids = stream.pending.slice(0, count);
      if (prefill) room -= count;
      const refusal = this.#refusal(stream, ids.length);
      if (refusal) this.#fail(stream, refusal);
      else turns.push({ stream, ids });
    }
    const chosen = turns.slice(0, this.#options.sessions.batchSize(turns.length));
    for (const { stream } of chosen) {
      this.#streams.delete(stream.request.stream);
      this.#streams.set(stream.request.stream, stream);
    }
    return chosen;
  }

  /** Rows of a run that prompts may share: few if streams that write wait for it. */
  #room(): number {
    const rows = rowsPerRun(this.#runtime, { keys: this.#options.contextLength, passes: 1, scored: false });
    const writing = [...this.#streams.values()].some(
      ({ pending, credit }) => pending.length === 1 && credit > 0,
    );
    return Math.max(LEAST_ROOM, writing ? Math.min(rows, PREFILL_BESIDE) : rows);
  }

  /** The reason why a sequence cannot grow, found before others share a run with it. */
  #refusal({ cache }: Stream, more: number): string | null {
    try {
      cache.reserve(cache.length + more);
      return null;
    } catch (error) {
      return String(error);
    }
  }

  /** One run: a token for each, or a part of its prompt. */
  async #step(turns: readonly Turn[]): Promise<void> {
    let logprobs: readonly Float32Array[];
    try {
      logprobs = await this.#logprobs(turns);
    } catch (error) {
      for (const { stream } of turns) this.#fail(stream, String(error));
      return;
    }
    for (const [i, { stream, ids }] of turns.entries()) {
      stream.pending = stream.pending.slice(ids.length);
      if (stream.pending.length === 0) this.#draw(stream, logprobs[i]!);
    }
  }

  /** Log-probabilities of the token that follows each turn's last one, `[vocab]`. */
  async #logprobs(turns: readonly Turn[]): Promise<Float32Array[]> {
    const { sessions, source, device } = this.#options;
    const graph = decodeGraph(
      turns.map(({ ids }) => ids.length),
      source,
      device,
    );
    const session = await sessions.get(graph);
    let end = 0;
    const rows = turns.map(({ ids }) => {
      end += ids.length;
      return end - 1;
    });
    const sequences = turns.map(({ stream: { cache }, ids }) => ({ cache, start: cache.length, ids }));
    const result = await runSequences(
      session,
      this.#runtime,
      sequences,
      { rows: longs(rows, [rows.length]) },
      ['logprobs'],
    );
    const logprobs = result.floats('logprobs');
    const size = logprobs.length / turns.length;
    return turns.map((_, i) => logprobs.subarray(i * size, (i + 1) * size));
  }

  #draw(stream: Stream, logprobs: Float32Array): void {
    const { stream: id, endIds, topLogprobs, statistics, maxTokens } = stream.request;
    if (!this.#streams.has(id)) return; // cancelled during the run
    const token = stream.sampler.sample(logprobs);
    const logprob = logprobs[token]!;
    if (!Number.isFinite(logprob)) {
      this.#fail(stream, 'the log-probability of the drawn token is not finite');
      return;
    }
    if (endIds.includes(token)) {
      this.#end(stream, 'stop');
      return;
    }
    this.#options.send({
      type: 'token',
      stream: id,
      id: token,
      logprob,
      top: topTokens(logprobs, topLogprobs),
      ...(statistics && { statistics: tokenStatistics(logprobs, token) }),
    });
    stream.credit -= 1;
    stream.generated += 1;
    stream.pending = [token];
    if (stream.generated === maxTokens) this.#end(stream, 'length');
  }

  #end(ended: Stream, reason: 'stop' | 'length'): void {
    const { stream, retain } = ended.request;
    this.#streams.delete(stream);
    if (retain) this.#retained.set(stream, ended);
    else this.#keep(ended);
    this.#options.send({ type: 'end', stream, reason });
  }

  #fail({ request: { stream } }: Stream, message: string): void {
    if (!this.#streams.delete(stream)) return; // the stream has already ended
    this.#options.send({ type: 'failed', stream, message });
  }
}
