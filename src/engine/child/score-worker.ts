import { setImmediate } from 'node:timers/promises';
import type { ModelSource } from '../../graphs/decoder.js';
import type { Backend } from '../device.js';
import type {
  ForkMessage,
  FromScore,
  PassMessage,
  PassToken,
  ReadMessage,
  ReplicaOptions,
  SampleMessage,
} from '../engine-messages.js';
import { KvCache } from '../kv-cache.js';
import { fitsOneRun, type RunSize } from '../run-limits.js';
import { FairTurns } from './fair-turns.js';
import type { GraphRunners } from './graph-sessions.js';
import type { HeldSequence } from './held-sequence.js';
import { NoiseReplicas } from './noise-replicas.js';
import { PrefixCache } from './prefix-cache.js';
import { runForward, runScorePass } from './score-pass.js';
import {
  forkSequence,
  type Run,
  readSequence,
  type Sequence,
  type Steps,
  sampleSequence,
  scoreSequence,
  topOf,
} from './score-steps.js';
import { type Runtime, runtimeOf } from './sequence-run.js';
import { TokurReplicas } from './tokur-replicas.js';

/**
 * Score passes that go through together: four take two thirds of the time that they take alone. Eight gain a tenth more,
 * and a graph for them opens in 7 s instead of 3 (30 layers).
 */
const MAX_BATCH_TEXTS = 4;

interface Job {
  readonly stream: number;
  readonly client: string;
  readonly steps: Steps;
  readonly run: Run;
}

export interface ScoreWorkerOptions {
  readonly sessions: GraphRunners;
  /** Opens a sequence whose keys and values are held elsewhere. */
  readonly held?: (() => HeldSequence) | undefined;
  readonly source: ModelSource;
  readonly threads: number;
  readonly device?: Backend;
  readonly contextLength: number;
  /** Runs that may be under way at once; one by default. */
  readonly concurrency?: number;
  /** Memory for keys and values of earlier texts; 0 by default. */
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

  /** Reads the first text of a new sequence. */
  read(message: ReadMessage): void {
    const { newIds, end, client, probabilities = true } = message;
    const sequence = this.#sequence(message);
    // Rounded keys and values are those of another model.
    const reader = client && JSON.stringify([client, this.#options.sessions.rounds && !probabilities]);
    const found = reader ? this.#prefixes.find(reader, newIds.slice(0, end)) : null;
    if (found) Object.assign(sequence, { cache: found, clean: found.length });
    sequence.readFor = reader;
    this.#begin(message, readSequence(message, sequence, this.#context));
  }

  pass(message: PassMessage): void {
    const sequence = this.#sequence(message);
    this.#begin(message, scoreSequence(message, sequence, this.#context));
  }

  get #context() {
    return { runtime: this.#runtime, sessions: this.#options.sessions };
  }

  /** Replaces the perturbed copies of a sequence, of one kind. */
  replicas(stream: number, options: ReplicaOptions): void {
    const { sessions, contextLength } = this.#options;
    const context = { runtime: this.#runtime, sessions, limit: contextLength };
    const replicas =
      options.kind === 'noise' ? new NoiseReplicas(options, context) : new TokurReplicas(options, context);
    this.#sequence({ stream, newIds: [] }).replicas.set(options.kind, replicas);
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
      this.#options.send({ type: 'forked', stream }); // a sequence that nothing is known of yet
    }
  }

  sample(message: SampleMessage): void {
    const sequence = this.#sequence(message);
    this.#begin(message, sampleSequence(message, sequence));
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
      held: this.#options.held?.() ?? null,
      clean: 0,
      readFor: undefined,
      replicas: new Map(),
    };
    this.#sequences.set(stream, sequence);
    for (const id of newIds) sequence.ids.push(id); // `push(...newIds)` could exceed the limit of arguments
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

  /** The job that has waited longest of the next client, and others that can be batched with it. */
  #next(): Job[] {
    const next = this.#turns.next([...new Set(this.#jobs.map(({ client }) => client))]);
    const first = this.#jobs.find(({ client }) => client === next);
    if (!first) return [];
    const sizes = [sizeOf(first.run)];
    const alike = this.#jobs.filter((job) => {
      if (job === first) return true;
      const more = [...sizes, sizeOf(job.run)];
      const whole = sizeOfRun(more, this.#options.sessions.fillsUp);
      if (!together(job.run, first.run) || !fitsOneRun(this.#runtime, whole)) return false;
      sizes.push(more.at(-1)!);
      return true;
    });
    const chosen = alike.slice(0, this.#options.sessions.batchSize(alike.length, MAX_BATCH_TEXTS));
    this.#jobs = this.#jobs.filter((job) => !chosen.includes(job));
    return chosen;
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
      const { adversary, rounded } = attacked[0];
      const { form } = adversary;
      // Of rounded products no probabilities are told.
      const more = rounded ? { rounded } : topOf(attacked[0]);
      const spec = { kind: 'score', sequences, form, ...more } as const;
      const session = await this.#options.sessions.get(spec);
      const windows = attacked.map(({ window }) => window);
      return runScorePass(session, this.#runtime, windows, adversary);
    }
    const plain = runs.filter((run) => run.kind === 'forward');
    const { rounded, ...most } = plain[0]!;
    const more = rounded ? { rounded } : topOf(most);
    const spec = { kind: 'forward', sequences, result: 'statistics', ...more } as const;
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

/** @param fillsUp whether all have as many rows as the longest */
const sizeOfRun = (sizes: readonly RunSize[], fillsUp: boolean): RunSize => {
  const sum = (of: (size: RunSize) => number): number => sizes.reduce((total, size) => total + of(size), 0);
  const most = (of: (size: RunSize) => number): number => Math.max(...sizes.map(of));
  return {
    rows: fillsUp ? sizes.length * most(({ rows }) => rows) : sum(({ rows }) => rows),
    keys: most(({ keys }) => keys),
    scored: sum(({ scored }) => scored),
  };
};

function together(a: Run, b: Run): boolean {
  if (a.kind === 'own' || b.kind === 'own' || a.top !== b.top || a.rounded !== b.rounded) return false;
  if (a.kind !== 'score' || b.kind !== 'score') return a.kind === b.kind;
  return a.adversary.alpha === b.adversary.alpha && a.adversary.form === b.adversary.form;
}
