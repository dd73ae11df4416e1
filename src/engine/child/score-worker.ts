import { setImmediate } from 'node:timers/promises';
import type { ModelSource } from '../../graphs/decoder.js';
import { TOP_TOKENS } from '../../graphs/token-statistics.js';
import type { Place } from '../device.js';
import { KvCache } from '../kv-cache.js';
import type {
  Adversary,
  ForkMessage,
  FromScore,
  PassMessage,
  PassToken,
  ReadMessage,
  ReplicaOptions,
  SampleMessage,
} from '../protocol.js';
import { fitsOneRun, type RunSize, rowsPerRun } from '../run-limits.js';
import { ChunkedPass } from './chunked-pass.js';
import { FairTurns } from './fair-turns.js';
import type { GraphRunners } from './graph-sessions.js';
import type { HeldSequence, HeldSequences } from './held-sequence.js';
import { openReplicas } from './open-replicas.js';
import { LEAST_ROOM, PrefixCache, portion } from './prefix-cache.js';
import type { Replicas } from './replicas.js';
import { type AttackedWindow, runForward, runScorePass, type Top, type Window } from './score-pass.js';
import { type Runtime, runtimeOf } from './sequence-run.js';

/**
 * Score passes that go through together. More than four gain nothing, and onnxruntime plans a graph in a time that grows
 * with the square of its nodes: for 30 layers 3 s for one sequence, 17 s for four, to save a fifth of each pass.
 */
const MAX_BATCH_TEXTS = 4;
const MAX_BATCH_LAYERS = 32;

interface Sequence {
  readonly ids: number[];
  cache: KvCache;
  /** Where its keys and values are; the cache is used by what cannot be done there. */
  held: HeldSequence | null;
  /** Positions at the beginning that were read, and that no pass has computed since. */
  clean: number;
  /** Whose text was read ahead. */
  readFor: string | undefined;
  readonly replicas: Map<ReplicaOptions['kind'], Replicas>;
}

/** One run that a job asks for; those of the same kind may go through together. */
type Run =
  | ({ readonly kind: 'forward'; readonly window: Window } & Top)
  | ({ readonly kind: 'score'; readonly window: AttackedWindow; readonly adversary: Adversary } & Top)
  | { readonly kind: 'own'; readonly execute: () => Promise<void> };

/** What has to be done for a message, run by run; it is given what each run says of its targets. */
type Steps = Generator<Run, FromScore, readonly PassToken[]>;

interface Job {
  readonly stream: number;
  readonly client: string;
  readonly steps: Steps;
  readonly run: Run;
}

export interface ScoreWorkerOptions {
  readonly sessions: GraphRunners;
  /** What holds keys and values in place of the worker. */
  readonly held?: HeldSequences | undefined;
  readonly source: ModelSource;
  readonly threads: number;
  readonly device?: Place;
  readonly contextLength: number;
  /** Runs that may be under way at once; one by default. */
  readonly concurrency?: number;
  /** By default nothing is kept. */
  readonly prefixCacheBytes?: number;
  readonly send: (message: FromScore) => void;
  /** Milliseconds since any fixed moment. */
  readonly now?: () => number;
}

/**
 * Serves all clients for the same time, their sequences in turn, one run each, and several in one run where their runs
 * are alike. Nothing perturbed is kept between passes: only the clean keys and values of the sequence.
 */
export class ScoreWorker {
  readonly #options: ScoreWorkerOptions;
  readonly #runtime: Runtime;
  readonly #sequences = new Map<number, Sequence>();
  readonly #prefixes: PrefixCache;
  readonly #turns = new FairTurns();
  readonly #now: () => number;
  #jobs: Job[] = [];
  #running = 0;

  constructor(options: ScoreWorkerOptions) {
    this.#options = options;
    this.#runtime = runtimeOf(options);
    this.#prefixes = new PrefixCache(options.prefixCacheBytes ?? 0);
    this.#now = options.now ?? (() => performance.now());
  }

  /** Of a sequence that nothing is known of yet. */
  read(message: ReadMessage): void {
    const { newIds, end, client } = message;
    const sequence = this.#sequence(message);
    const found = client ? this.#prefixes.find(client, newIds.slice(0, end)) : null;
    if (found) Object.assign(sequence, { cache: found, clean: found.length });
    sequence.readFor = client;
    this.#begin(message, readSequence(message, sequence, this.#runtime));
  }

  pass(message: PassMessage): void {
    const sequence = this.#sequence(message);
    const context = { runtime: this.#runtime, sessions: this.#options.sessions };
    this.#begin(message, scoreSequence(message, sequence, context));
  }

  /** Replaces the perturbed copies of a sequence, of one kind. */
  replicas(stream: number, options: ReplicaOptions): void {
    const { sessions, contextLength } = this.#options;
    const sequence = this.#sequence({ stream, newIds: [] });
    sequence.replicas.set(
      options.kind,
      openReplicas(options, { runtime: this.#runtime, sessions, limit: contextLength }),
    );
  }

  fork(message: ForkMessage): void {
    const { stream, of, length } = message;
    const source = this.#sequences.get(of);
    const sequence = this.#sequence({ stream, newIds: source?.ids.slice(0, length) ?? [] });
    if (sequence.ids.length < length) {
      this.#fail(stream, new Error(`sequence ${of} does not hold ${length} tokens to continue`));
    } else if (source) {
      this.#begin(message, forkSequence(stream, source, sequence));
    } else {
      this.#options.send({ type: 'forked', stream }); // of one of which nothing is known yet
    }
  }

  sample(message: SampleMessage): void {
    const sequence = this.#sequence(message);
    this.#begin(message, sampleSequence(message, sequence, this.#runtime));
  }

  release(stream: number): void {
    const sequence = this.#sequences.get(stream);
    if (sequence?.readFor) {
      const { readFor, ids, clean, cache } = sequence;
      this.#prefixes.keep(readFor, ids.slice(0, clean), cache);
    }
    sequence?.held?.release();
    this.#sequences.delete(stream);
    this.#jobs = this.#jobs.filter((job) => job.stream !== stream);
  }

  #sequence({ stream, newIds }: Pick<PassMessage, 'stream' | 'newIds'>): Sequence {
    const { source, contextLength } = this.#options;
    const sequence: Sequence = this.#sequences.get(stream) ?? {
      ids: [],
      cache: new KvCache(source.config, contextLength),
      held: this.#options.held?.open() ?? null,
      clean: 0,
      readFor: undefined,
      replicas: new Map(),
    };
    this.#sequences.set(stream, sequence);
    for (const id of newIds) sequence.ids.push(id); // so many may not be arguments of one call
    return sequence;
  }

  async #run(): Promise<void> {
    if (this.#running >= (this.#options.concurrency ?? 1)) return;
    this.#running += 1;
    for (let jobs = this.#next(); jobs.length > 0; jobs = this.#next()) {
      const start = this.#now();
      try {
        const results = await this.#execute(jobs.map(({ run }) => run));
        for (const [i, job] of jobs.entries()) this.#advance(job, () => job.steps.next(results[i]!));
      } catch (error) {
        for (const job of jobs) this.#advance(job, () => job.steps.throw(error));
      }
      const clients = jobs.map(({ client }) => client);
      this.#turns.charge(clients, (this.#now() - start) / jobs.length);
      await setImmediate();
    }
    this.#running -= 1;
  }

  #begin({ stream, client = '' }: Pick<PassMessage, 'stream' | 'client'>, steps: Steps): void {
    this.#advance({ stream, client, steps }, () => steps.next([]));
    void this.#run();
  }

  /** Lets a job go on until it asks for another run, or has its answer. */
  #advance({ stream, client, steps }: Omit<Job, 'run'>, step: () => ReturnType<Steps['next']>): void {
    if (!this.#sequences.has(stream)) return; // released during the run
    try {
      const { done, value } = step();
      if (done) this.#options.send(value);
      else this.#jobs.push({ stream, client, steps, run: value });
    } catch (error) {
      this.#fail(stream, error);
    }
  }

  #fail(stream: number, error: unknown): void {
    this.#options.send({ type: 'failed', stream, message: String(error) });
  }

  /** The job that has waited longest, of the client whose turn it is, and others that can go with it. */
  #next(): Job[] {
    const next = this.#turns.next([...new Set(this.#jobs.map(({ client }) => client))]);
    const first = this.#jobs.find(({ client }) => client === next);
    if (!first) return [];
    let size = sizeOf(first.run);
    const alike = this.#jobs.filter((job) => {
      if (job === first) return true;
      const more = plus(size, sizeOf(job.run));
      if (!together(job.run, first.run) || !fitsOneRun(this.#runtime, more)) return false;
      size = more;
      return true;
    });
    const chosen = alike.slice(
      0,
      this.#options.sessions.batchSize(alike.length, this.#mostSequences(first.run)),
    );
    this.#jobs = this.#jobs.filter((job) => !chosen.includes(job));
    return chosen;
  }

  #mostSequences({ kind }: Run): number {
    if (kind === 'own') return 1;
    if (kind === 'forward') return MAX_BATCH_TEXTS;
    return Math.min(MAX_BATCH_TEXTS, Math.floor(MAX_BATCH_LAYERS / this.#runtime.config.layers));
  }

  async #execute(runs: readonly Run[]): Promise<PassToken[][]> {
    const sequences = runs.length;
    const own = runs.find((run) => run.kind === 'own');
    if (own) {
      await own.execute();
      return [[]];
    }
    const attacked = runs.filter((run) => run.kind === 'score');
    if (attacked[0]) {
      const { adversary } = attacked[0];
      const spec = { kind: 'score', sequences, form: adversary.form, ...topOf(attacked[0]) } as const;
      const session = await this.#options.sessions.get(spec);
      const windows = attacked.map(({ window }) => window);
      return runScorePass(session, this.#runtime, windows, adversary);
    }
    const plain = runs.filter((run) => run.kind === 'forward');
    const spec = { kind: 'forward', sequences, result: 'statistics', ...topOf(plain[0] ?? {}) } as const;
    const session = await this.#options.sessions.get(spec);
    const windows = plain.map(({ window }) => window);
    return runForward(session, this.#runtime, windows);
  }
}

function sizeOf(run: Run): RunSize {
  if (run.kind === 'own') return { rows: 0, keys: 0, scored: 0 };
  const { start, ids, targets } = run.window;
  return { rows: ids.length, keys: start + ids.length, scored: targets.length };
}

const plus = (a: RunSize, b: RunSize): RunSize => ({
  rows: a.rows + b.rows,
  keys: Math.max(a.keys, b.keys),
  scored: a.scored + b.scored,
});

function together(a: Run, b: Run): boolean {
  if (a.kind === 'own' || b.kind === 'own' || a.top !== b.top) return false;
  if (a.kind !== 'score' || b.kind !== 'score') return a.kind === b.kind;
  return a.adversary.alpha === b.adversary.alpha && a.adversary.form === b.adversary.form;
}

/** The usual number of tokens and that number asked for are one graph. */
const topOf = ({ top }: Top): Top => (top === undefined || top === TOP_TOKENS ? {} : { top });

/** Between two runs: during one the cache holds perturbed keys and values. */
function* forkSequence(stream: number, source: Sequence, sequence: Sequence): Steps {
  const length = sequence.ids.length;
  const execute = async (): Promise<void> => {
    sequence.cache = source.cache.fork(length);
    if (source.held) sequence.held = source.held.fork(length);
    for (const [kind, replicas] of source.replicas) sequence.replicas.set(kind, replicas.fork(length));
  };
  yield { kind: 'own', execute };
  return { type: 'forked', stream };
}

function* readSequence({ stream, end }: ReadMessage, sequence: Sequence, runtime: Runtime): Steps {
  const { held, ids, cache } = sequence;
  if (held) {
    yield* ownRuns(held.read(ids, end));
  } else {
    cache.reserve(end);
    yield* fill(sequence, end, runtime);
  }
  return { type: 'read', stream };
}

/** A pass, after what lies before its window. Room is made first: what does not fit fails before others join. */
function* scoreSequence(
  message: PassMessage,
  sequence: Sequence,
  context: { readonly runtime: Runtime; readonly sessions: GraphRunners },
): Steps {
  const { stream, start, from, to, adversary } = message;
  const { ids, cache, held } = sequence;
  const most = topOf(message);
  const positions = to - 1 - start;
  const targets = ids.slice(from, to);
  const size = { rows: positions, keys: to - 1, scored: targets.length };
  const fits = fitsOneRun(context.runtime, size);
  cache.check(to - 1);
  if (held && (!adversary || fits)) {
    const tokens = yield* ownRuns(held.score(ids, { start, from, to, adversary, ...most }));
    return { type: 'scored', stream, tokens, positions };
  }
  sequence.clean = Math.min(sequence.clean, adversary ? start : from - 1);
  cache.reserve(to - 1);
  // Without an adversary only the scored rows themselves are needed, whatever the window.
  yield* fill(sequence, adversary ? start : from - 1, context.runtime);
  if (!adversary) {
    const tokens = yield* forwardSequence({ ids, cache }, { from, to, ...most }, context.runtime);
    return { type: 'scored', stream, tokens, positions };
  }
  const attacked = adversary.attacked ?? targets.map(() => true);
  const window = { cache, start, ids: ids.slice(start, to - 1), targets, attacked };
  if (fits) {
    const tokens = yield { kind: 'score', window, adversary, ...most };
    return { type: 'scored', stream, tokens, positions };
  }
  const tokens = yield* ownRuns(new ChunkedPass(context, window, adversary, most).steps());
  return { type: 'scored', stream, tokens, positions };
}

/** A plain forward pass over tokens `from` to `to − 1`, in as many runs as it takes. */
function* forwardSequence(
  { ids, cache }: Pick<Sequence, 'ids' | 'cache'>,
  { from, to, ...most }: { readonly from: number; readonly to: number } & Top,
  runtime: Runtime,
): Generator<Run, PassToken[], readonly PassToken[]> {
  const tokens: PassToken[] = [];
  const size = rowsPerRun(runtime, { keys: to, passes: 1, scored: true });
  for (let start = from - 1; start < to - 1; start += size) {
    const end = Math.min(to - 1, start + size);
    const targets = ids.slice(start + 1, end + 1);
    const window = { cache, start, ids: ids.slice(start, end), targets };
    tokens.push(...(yield { kind: 'forward', window, ...most }));
  }
  return tokens;
}

function* sampleSequence(
  { stream, kind, from, to }: SampleMessage,
  sequence: Sequence,
  runtime: Runtime,
): Steps {
  const { ids, cache } = sequence;
  const replicas = sequence.replicas.get(kind);
  if (!replicas) throw new Error(`the sequence has no replicas of kind ${kind}`);
  cache.reserve(to - 1);
  if (replicas.needsClean) yield* fill(sequence, to - 1, runtime);
  replicas.cut(from - 1);
  const values = yield* ownRuns(replicas.advance(ids.slice(0, to), from, cache));
  return { type: 'sampled', stream, values };
}

/** Clean keys and values of the first `end` positions, as far as they are not held yet. */
function* fill(
  sequence: Sequence,
  end: number,
  runtime: Runtime,
): Generator<Run, void, readonly PassToken[]> {
  const { ids, cache } = sequence;
  const size = Math.max(LEAST_ROOM, rowsPerRun(runtime, { keys: end, passes: 1, scored: false }));
  while (cache.length < end) {
    const start = cache.length;
    const chunk = ids.slice(start, start + portion(start, end - start, size));
    // onnxruntime dies of a division by zero when no row is scored: one is, for nothing.
    yield { kind: 'forward', window: { cache, start, ids: chunk, targets: [0] } };
    if (sequence.clean === start) sequence.clean += chunk.length;
  }
}

/** Runs that nobody else joins. */
function* ownRuns<Result>(
  runs: Generator<() => Promise<void>, Result>,
): Generator<Run, Result, readonly PassToken[]> {
  let next = runs.next();
  while (!next.done) {
    try {
      yield { kind: 'own', execute: next.value };
    } catch (error) {
      next = runs.throw(error);
      continue;
    }
    next = runs.next();
  }
  return next.value;
}
