import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Principal } from '../access/principal.js';
import type { Answer } from '../answers/served-model.js';
import type { Config } from '../config/gateway-config.js';
import { ApiError, toApiError } from '../errors/api-error.js';
import { OWN_FAULTS } from '../errors/codes.js';
import type { Elsewhere, Publication, Published, Resumed, ResumePoint } from './elsewhere.js';
import { EventHistory } from './event-history.js';
import { type Encoding, LiveGeneration, type ReadGeneration, type Sink } from './live-generation.js';

/** 24.8 days; Node's timers take more for none at all. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Maximum size of the events that are kept of a generation, and of all together, in bytes. */
export const HISTORY_BYTES = 1 << 20;
const HISTORIES_BYTES = 64 << 20;

interface Settings {
  readonly streams: Pick<Config['streams'], 'resume_s'>;
  readonly bounds: { readonly historyEvents: number };
}

export interface OpenRequest {
  readonly id: string;
  readonly principal: Principal;
  readonly resumable: boolean;
  /** The client's name for it. */
  readonly requestId?: string | undefined;
  readonly prepare: () => Promise<Answer>;
  /** @param resumable whether it can be, which may be less than was asked for */
  readonly encode: (answer: Answer, resumable: boolean) => Encoding;
  /** Logger with the fields of this generation; by default that of all generations. */
  readonly logger?: Logger;
  /** Called at the end, unless it failed, with whether the generation is complete. */
  readonly over?: (generation: LiveGeneration, complete: boolean) => void;
}

/** All generations of the gateway that are under way, and those that have ended and can still be resumed. */
export class LiveGenerations {
  /** Epoch of this process: offsets of another mean nothing here. */
  readonly epoch = randomBytes(9).toString('base64url');
  readonly #settings: Settings;
  readonly #historiesBytes: number;
  readonly #logger: Logger;
  readonly #running = new Set<LiveGeneration>();
  /** Generations by id, in the order of their creation. */
  readonly #resumable = new Map<string, LiveGeneration>();
  readonly #elsewhere: readonly Elsewhere[];
  #preparing = 0;
  /** Number of generations of other workers that connections of this one read. */
  #relayed = 0;
  #historyBytes = 0;
  #refuses = false;
  #drained = false;
  /** Callbacks that wait until none is under way. */
  readonly #waiting = new Set<() => void>();

  /** @param shares how many processes share the room for histories */
  constructor(settings: Settings, logger: Logger, elsewhere: readonly Elsewhere[] = [], shares = 1) {
    this.#historiesBytes = HISTORIES_BYTES / shares;
    this.#settings = settings;
    this.#logger = logger;
    this.#elsewhere = elsewhere;
  }

  /** Generations that are under way or about to be. */
  get size(): number {
    return this.#running.size + this.#preparing;
  }

  /** Bytes that can be sent again. */
  get historyBytes(): number {
    return this.#historyBytes;
  }

  /**
   * Takes on a generation. The caller starts it, or discards it. A client that asks again for a resumable one
   * by the same name has lost the first before it learned its id: that one ends, because it can never be
   * resumed.
   * @throws ApiError 429 from the principal, 503 `shutting_down`; what `prepare` throws
   */
  async open(request: OpenRequest): Promise<LiveGeneration> {
    const { id, principal, resumable, requestId } = request;
    const { prepare, encode, over, logger = this.#logger } = request;
    if (this.#refuses) throw shuttingDown();
    if (resumable && requestId !== undefined) {
      this.forgetLost(principal.name, requestId);
      for (const each of this.#elsewhere) each.forgetLost(principal.name, requestId);
    }
    this.#preparing += 1;
    let release = (): void => {};
    let publication: Publication | null = null;
    try {
      release = await principal.admit();
      // At once before policies are looked up, so that no request has those of a configuration without its key.
      principal.checkValid?.();
      const answer = await prepare();
      const { streams, bounds } = this.#settings;
      const history = resumable
        ? new EventHistory({ events: bounds.historyEvents, bytes: HISTORY_BYTES })
        : null;
      const owner = principal.name;
      if (history) {
        publication = await this.#publish({
          id,
          owner,
          requestId,
          history,
          model: answer.model,
          endedElsewhere: () => generation.discard(),
        });
      }
      if (this.#drained) throw shuttingDown();
      const generation = new LiveGeneration({
        id,
        owner,
        requestId,
        answer,
        encoding: encode(answer, publication !== null),
        history: publication && history,
        retentionMs: 1000 * streams.resume_s,
        onOver: (error, complete) => {
          this.#running.delete(generation);
          release();
          publication?.ended();
          if (error === undefined) over?.(generation, complete);
          else report(logger, generation, error);
          this.#tellIfIdle();
        },
        onForgotten: () => {
          this.#resumable.delete(id);
          publication?.forgotten();
        },
        onHistory: (change) => {
          this.#historyBytes += change;
          publication?.changed();
          if (change > 0) this.#makeRoom();
        },
      });
      this.#running.add(generation);
      if (publication) this.#resumable.set(id, generation);
      return generation;
    } catch (error) {
      release();
      publication?.forgotten();
      throw error;
    } finally {
      this.#preparing -= 1;
      this.#tellIfIdle();
    }
  }

  /** One of this process that can be resumed. */
  own(id: string): LiveGeneration | undefined {
    return this.#resumable.get(id);
  }

  /** The generation that may be resumed by this principal, if there is one. */
  find(
    { id, epoch }: { readonly id: string; readonly epoch: string },
    principal: Pick<Principal, 'name'>,
  ): LiveGeneration | null {
    const generation = this.#resumable.get(id);
    return epoch === this.epoch && generation?.owner === principal.name ? generation : null;
  }

  /**
   * Has a generation go on for another sink, if this principal may resume it.
   * @returns `null` if not all from the offset on can be sent; then it is over
   */
  resume<Own extends Sink>(
    point: ResumePoint,
    principal: Principal,
    sinkOf: (generation: ReadGeneration) => Own,
  ): Resumed<Own> | null | Promise<Resumed<Own> | null> {
    const generation = this.find(point, principal);
    if (!generation) return this.#relay(point, principal, sinkOf);
    const attach = (): Resumed<Own> | null => {
      const sink = sinkOf(generation);
      return generation.attach(sink, point.offset) ? { generation, sink } : null;
    };
    const owned = this.#owns(point.id);
    if (owned === true) return attach();
    return owned.then((ours) => (ours ? attach() : this.#relay(point, principal, sinkOf)));
  }

  /** Whether there is anything that this principal may resume. */
  async holds(principal: Pick<Principal, 'name'>): Promise<boolean> {
    if (this.holdsOwn(principal.name)) return true;
    const held = await Promise.all(this.#elsewhere.map((each) => each.holds(principal.name)));
    return held.includes(true);
  }

  /** The same of this process. */
  holdsOwn(name: string): boolean {
    return [...this.#resumable.values()].some(({ owner }) => owner === name);
  }

  /** Refuses new generations from now on. */
  refuse(): void {
    this.#refuses = true;
  }

  /**
   * Takes on no more, and waits for those that run. After the time, they end with
   * `shutting_down`.
   * @param timeoutMs `Infinity` for however long it takes
   */
  async drain(timeoutMs: number): Promise<void> {
    this.refuse();
    if (this.#busy) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(done);
          resolve();
        };
        const ms = Math.min(timeoutMs, MAX_TIMER_MS);
        const timer = timeoutMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(done, ms);
        this.#waiting.add(done);
      });
    }
    this.#drained = true;
    for (const generation of [...this.#running]) generation.fail(shuttingDown());
  }

  /** Ends what a client has lost before it learned its id, and asks for again by the same name. */
  forgetLost(owner: string, requestId: string): void {
    for (const generation of [...this.#resumable.values()]) {
      if (generation.requestId !== requestId || generation.owner !== owner) continue;
      if (!generation.attached) generation.discard();
    }
  }

  /** Whether others have not taken it over, as far as is known at once. */
  #owns(id: string): true | Promise<boolean> {
    for (const each of this.#elsewhere) {
      const owned = each.owns?.(id) ?? true;
      if (owned !== true) return Promise.resolve(owned);
    }
    return true;
  }

  /** @returns `null` if it cannot be found where it should be */
  async #publish(generation: Published): Promise<Publication | null> {
    for (const each of this.#elsewhere) if (each.publish) return each.publish(generation);
    return UNPUBLISHED;
  }

  async #relay<Own extends Sink>(
    point: ResumePoint,
    principal: Principal,
    sinkOf: (generation: ReadGeneration) => Own,
  ): Promise<Resumed<Own> | null> {
    if (this.#elsewhere.length === 0) return null;
    this.#relayed += 1;
    const over = (): void => {
      this.#relayed -= 1;
      this.#tellIfIdle();
    };
    try {
      for (const each of this.#elsewhere) {
        const resumed = await each.resume(point, principal, { sinkOf, over });
        if (resumed) return resumed;
      }
    } catch (error) {
      over();
      throw error;
    }
    over();
    return null;
  }

  get #busy(): boolean {
    return this.size + this.#relayed > 0;
  }

  #tellIfIdle(): void {
    if (!this.#busy) for (const done of this.#waiting) done();
  }

  /**
   * Finished ones are forgotten first, then halves of the largest histories. What was not sent yet stays: it is bounded
   * by how many generations there are.
   */
  #makeRoom(): void {
    const limit = this.#historiesBytes;
    if (this.#historyBytes <= limit) return;
    const all = [...this.#resumable.values()];
    for (const generation of all) {
      if (this.#historyBytes <= limit) return;
      if (generation.finished) generation.discard();
    }
    for (const generation of all.sort((a, b) => b.historyBytes - a.historyBytes)) {
      if (this.#historyBytes <= limit) return;
      generation.halve();
    }
  }
}

/** Publication of a generation whose readers all ask this process. */
const UNPUBLISHED: Publication = { changed: () => {}, ended: () => {}, forgotten: () => {} };

function report(logger: Logger, { id, model, outcome }: LiveGeneration, error: unknown): void {
  const { code } = toApiError(error).body;
  const fields = { response_id: id, model, code, ...outcome.fields };
  if (OWN_FAULTS.has(code)) logger.error({ ...fields, err: error }, 'generation failed');
  else logger.info(fields, 'generation failed');
}

function shuttingDown(): ApiError {
  return new ApiError('shutting_down', 'the server is shutting down');
}
