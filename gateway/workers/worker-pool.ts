import type { Logger } from 'pino';
import type { Engine } from '../../src/engine/engine.js';
import { checkAccess } from '../access/access.js';
import { hashedKeys } from '../access/access-keys.js';
import type { Config } from '../config/gateway-config.js';
import type { Reloading } from '../gateway.js';
import type { WorkersHealth } from '../http/app.js';
import { retired } from '../metrics/combine.js';
import type { MetricsSnapshot } from '../metrics/metric-families.js';
import type { Metrics } from '../metrics/metrics.js';
import type { Shared } from './attendant.js';
import type { EngineState, OpenedWorker } from './worker-messages.js';
import { type AmongSide, setUpCluster, WorkerProcess } from './worker-process.js';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 30_000;
/** One that has run for so long begins anew with the shortest wait. */
const SETTLED_MS = 60_000;

export interface PoolOptions {
  readonly config: Config;
  readonly logger: Logger;
  /** Metrics of this process. */
  readonly metrics: Metrics;
  readonly shared: Shared;
}

/** The slot of a worker, which has one process after the other. */
interface Slot {
  readonly id: number;
  process: WorkerProcess | null;
  restarts: number;
  /** Wait before the next start. */
  waitMs: number;
}

/** The workers of one port, as their primary process has them. */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #slots: readonly Slot[];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #stops: readonly (() => void)[];
  #reloaded: Reloading;
  #started = false;
  #stopping = false;
  /** Counts of processes that are gone. */
  #retired: readonly MetricsSnapshot[] = [];

  constructor(options: PoolOptions) {
    const { config, shared } = options;
    this.#options = options;
    this.#reloaded = withHashes(config);
    this.#slots = Array.from({ length: config.workers }, (_, i) => ({
      id: i + 1,
      process: null,
      restarts: 0,
      waitMs: FIRST_WAIT_MS,
    }));
    this.#stops = [...shared.engines].map(([model, engine]) =>
      engine.onChange(() => {
        for (const { channel } of this.#processes()) channel.tell('changed', model, stateOf(engine));
      }),
    );
  }

  /** @throws what keeps a worker from serving */
  async start(): Promise<OpenedWorker> {
    setUpCluster();
    const [first] = await Promise.all(this.#slots.map((slot) => this.#fork(slot)));
    this.#started = true;
    return first!;
  }

  /**
   * Replaces keys and policies of all workers, and of those that are started from now on.
   * @throws ConfigError for a key that cannot be read, and for settings that admit every client
   */
  async reload(changed: Reloading): Promise<void> {
    checkAccess({ listen: this.#options.config.listen, access: changed.access }, process.env);
    const hashed = withHashes(changed);
    this.#reloaded = hashed;
    // A worker that dies meanwhile is started again with it.
    await Promise.allSettled(this.#processes().map(({ channel }) => channel.call('reload', hashed)));
  }

  /** Takes on no more, and waits for work under way. */
  async drain(): Promise<void> {
    this.#stop();
    await Promise.all(this.#processes().map(({ channel }) => channel.call('drain').catch(() => {})));
  }

  async close(): Promise<void> {
    this.#stop();
    for (const stop of this.#stops) stop();
    await Promise.all(this.#slots.map(({ process }) => process?.close()));
  }

  /** Starts no more workers. */
  #stop(): void {
    this.#stopping = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** @throws what keeps it from serving; then the process is gone */
  async #fork(slot: Slot): Promise<OpenedWorker> {
    const { config, shared } = this.#options;
    const process = new WorkerProcess(shared, (asking) => this.#sideOf(asking));
    slot.process = process;
    process.ended.then((reason) => this.#lost(slot, process, reason));
    const engines = Object.fromEntries([...shared.engines].map(([name, engine]) => [name, stateOf(engine)]));
    try {
      const reloaded = this.#reloaded;
      const opened = await process.open({ id: slot.id, config, reloaded, engines });
      if (this.#reloaded !== reloaded) await process.channel.call('reload', this.#reloaded);
      return opened;
    } catch (error) {
      process.kill();
      throw error;
    }
  }

  #lost(slot: Slot, process: WorkerProcess, reason: string): void {
    slot.process = null;
    if (process.lastSnapshot) this.#retired = [...this.#retired, process.lastSnapshot];
    const epoch = process.opened?.epoch ?? null;
    for (const { channel } of this.#processes()) channel.tell('workerGone', process.name, epoch);
    if (this.#stopping) return;
    const { logger } = this.#options;
    logger.error({ worker: slot.id, reason }, 'worker died');
    if (!this.#started) return;
    if (process.ageMs > SETTLED_MS) slot.waitMs = FIRST_WAIT_MS;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      slot.restarts += 1;
      this.#fork(slot).then(
        () => logger.info({ worker: slot.id, restarts: slot.restarts }, 'worker restarted'),
        (error: unknown) => logger.error({ err: error, worker: slot.id }, 'worker cannot be started'),
      );
    }, slot.waitMs);
    this.#timers.add(timer);
    slot.waitMs = Math.min(LONGEST_WAIT_MS, 2 * slot.waitMs);
  }

  /** Methods with which a worker reaches the others. */
  #sideOf(asking: WorkerProcess): AmongSide {
    const { name } = asking;
    return {
      collect: () => this.#collect(),
      health: () => this.#health(),
      resume: async (point, owner, reader) => {
        const having = this.#having(point.epoch);
        return having ? having.ask(null, 'resumeFor', { worker: name, reader }, point, owner) : null;
      },
      act: (epoch, reader, action) =>
        this.#having(epoch)?.channel.tell('actFor', { worker: name, reader }, action),
      tellReader: ({ worker, reader }, event) =>
        this.#named(worker)?.channel.tell('readerEvent', reader, event),
      holds: async (owner) => {
        const others = this.#processes().filter((process) => process !== asking);
        return (await Promise.all(others.map((other) => other.ask(false, 'holdsOwn', owner)))).includes(true);
      },
      forget: (owner, requestId) => {
        for (const process of this.#processes())
          if (process !== asking) process.channel.tell('forgetOwn', owner, requestId);
      },
    };
  }

  async #collect(): Promise<readonly MetricsSnapshot[]> {
    const own = await this.#options.metrics.snapshot();
    const said = await Promise.all(this.#processes().map((process) => process.snapshot()));
    const before = this.#retired;
    const gone = await retired(before);
    if (this.#retired === before) this.#retired = [gone];
    return [own, ...said.filter((snapshot) => snapshot !== null), gone];
  }

  async #health(): Promise<WorkersHealth> {
    const said = await Promise.all(this.#processes().map((process) => process.ask({}, 'streams')));
    const streams = said.flatMap((each) => Object.entries(each));
    const models = Object.keys(this.#options.config.models ?? {});
    const sumOf = (model: string): number =>
      streams.reduce((sum, [name, count]) => (name === model ? sum + count : sum), 0);
    return {
      workers: this.#slots.map(({ id, process, restarts }) => ({
        id,
        pid: process?.pid ?? null,
        restarts,
        ready: Boolean(process?.opened),
      })),
      streams: Object.fromEntries(models.map((model) => [model, sumOf(model)])),
    };
  }

  /** Workers that serve. */
  #processes(): WorkerProcess[] {
    return this.#slots.flatMap(({ process }) => (process?.opened ? [process] : []));
  }

  #having(epoch: string): WorkerProcess | null {
    return this.#processes().find(({ opened }) => opened?.epoch === epoch) ?? null;
  }

  #named(name: number): WorkerProcess | undefined {
    return this.#processes().find((process) => process.name === name);
  }
}

/** Keys by their hashes alone, so that all workers have the same ones even while a file of a key changes. */
const withHashes = ({ access, ...rest }: Reloading): Reloading => ({
  ...rest,
  access: { ...access, keys: hashedKeys(access.keys, process.env) },
});

function stateOf(engine: Engine): EngineState {
  const { decode, score } = engine.status();
  return { decode, score };
}
