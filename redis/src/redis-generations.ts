import { setTimeout as wait } from 'node:timers/promises';
import type {
  LiveGenerations,
  Logger,
  Principal,
  Publication,
  Published,
  ReadGeneration,
  Resumed,
  ResumePoint,
  SharedGenerations,
  Sink,
} from 'flinch/state';
import { EventLog } from './event-log.js';
import { type Message, messageSchema, type ReaderName } from './gateway-messages.js';
import { LogReader } from './log-reader.js';
import type { Redis } from './redis.js';
import { keys, LEASE_MS, RENEWAL_MS } from './redis-keys.js';
import { RemoteReaders } from './remote-readers.js';
import type { Look } from './scripts.js';
import { type Entry, StreamFeed } from './stream-feed.js';

/** Maximum messages that wait in an inbox; they are read at once. */
const MOST_MESSAGES = 10_000;
/** Time limit at the end for frames that are not written yet. */
const FLUSH_TIMEOUT_MS = 2000;
/** Patience with a Redis that answers and refuses, such as a full one: longer than one renewal, shorter than two. */
const REFUSED_MS = 1.5 * RENEWAL_MS;

export interface RedisGenerationsOptions {
  readonly redis: Redis;
  readonly logger: Logger;
  readonly resumeMs: number;
  readonly history: { readonly events: number; readonly bytes: number };
}

/** A generation of another gateway that is read here. */
interface Reading {
  readonly reader: LogReader;
  readonly point: ResumePoint;
  readonly principal: Principal;
  readonly name: ReaderName;
  /** Whether its gateway was told that we read it. */
  reported: boolean;
  /** Time at which it was last found in Redis, and its gateway could be told. */
  seenMs: number;
}

/**
 * Generations of all gateways that share a Redis. Each writes its own frames there ({@link EventLog}), and the others
 * read them ({@link LogReader}); all other messages go through inboxes. A gateway has a lease: when it has run out, the
 * gateway that looks first for one of its generations ends it, and the former one can write none of it.
 */
export class RedisGenerations implements SharedGenerations {
  readonly #options: RedisGenerationsOptions;
  readonly #feed: StreamFeed;
  readonly #logs = new Map<string, EventLog>();
  readonly #readings = new Map<number, Reading>();
  /** Time until which this gateway cannot count as dead, in `performance.now()`. */
  #leasedUntilMs = Number.NEGATIVE_INFINITY;
  #live: LiveGenerations | null = null;
  #remote: RemoteReaders | null = null;
  #count = 0;

  constructor(options: RedisGenerationsOptions) {
    this.#options = options;
    this.#feed = new StreamFeed(options.redis, () => this.#wake());
  }

  /** Lets other gateways reach these generations from now on. */
  serve(live: LiveGenerations): void {
    this.#live = live;
    const tell = (gateway: string, message: Message): void => this.#tell(gateway, message);
    this.#remote = new RemoteReaders({ live, patienceMs: this.#keptMs, tell });
    this.#feed.follow(keys.inbox(live.epoch), '0', (entries) => this.#receive(entries));
  }

  async publish(generation: Published): Promise<Publication | null> {
    const { redis, logger } = this.#options;
    const { id, owner, requestId, model } = generation;
    const epoch = this.#epoch;
    const [leaseMs, keptMs] = [LEASE_MS, this.#keptMs];
    try {
      await redis.run((client) => client.publish({ id, owner, epoch, model }, { leaseMs, keptMs }));
      if (requestId !== undefined) {
        const expiration = { type: 'PX', value: keptMs } as const;
        await redis.run((client) => client.set(keys.request(owner, requestId), epoch, { expiration }));
      }
    } catch {
      logger.warn({ response_id: id }, 'generation cannot be resumed: Redis cannot be used');
      return null;
    }
    const dropped = (): void => void this.#logs.delete(id);
    const log = new EventLog({ redis, generation, keptMs, dropped });
    this.#logs.set(id, log);
    return log;
  }

  async resume<Own extends Sink>(
    point: ResumePoint,
    principal: Principal,
    { sinkOf, over }: { readonly sinkOf: (generation: ReadGeneration) => Own; readonly over: () => void },
  ): Promise<Resumed<Own> | null> {
    const { id, offset, epoch: gateway } = point;
    const { name: owner } = principal;
    const found = await this.#look(point, principal);
    if (!found) return null;
    this.#count += 1;
    const name = { gateway: this.#epoch, number: this.#count };
    // Its gateway may have sent more than is written here, but no more than it keeps.
    const most = found.next + (found.ended === 'done' ? 0 : this.#options.history.events);
    if (offset < found.first || offset > most) {
      // Its gateway then ends it, as it would for a connection of its own.
      this.#tell(gateway, { type: 'read', id, owner, reader: name, offset, first: true });
      return null;
    }
    // The feed reads a generation once.
    for (const each of this.#readings.values()) if (each.point.id === id) each.reader.lost('taken_over');
    const reader = this.#readerOf(point, found, name, over);
    const reading = { reader, name, point, principal, reported: false, seenMs: performance.now() };
    this.#readings.set(name.number, reading);
    try {
      // Its gateway writes on only for a reader: if it cannot be told, there is nothing to wait for.
      if (found.ended !== 'owner_lost') await this.#acknowledge(reading);
    } catch (error) {
      this.#readings.delete(name.number);
      throw error;
    }
    const sink = sinkOf(reader);
    reader.sink = sink;
    return { generation: reader, sink };
  }

  /** Always false: while this gateway drains, the client can resume at another one, which reads the same Redis. */
  async holds(): Promise<boolean> {
    return false;
  }

  forgetLost(owner: string, requestId: string): void {
    const forget = async (): Promise<void> => {
      const epoch = await this.#options.redis.run((client) => client.getDel(keys.request(owner, requestId)));
      if (epoch !== null && epoch !== this.#epoch)
        await this.#say(epoch, { type: 'forget', owner, requestId });
    };
    forget().catch(() => {}); // it can never be resumed: it ends by itself
  }

  /**
   * While Redis is away, no other gateway can take the generation. A gateway that was stopped meanwhile does not know
   * whether Redis was away.
   * @throws ApiError 503 `state_unavailable`
   */
  async owns(id: string): Promise<boolean> {
    const untilMs = this.#leasedUntilMs;
    if (performance.now() < untilMs) return true;
    try {
      await this.#hold();
    } catch (error) {
      if (!this.#options.redis.wasAwayAt(untilMs)) throw error;
    }
    return this.#serving.own(id) !== undefined;
  }

  /** Call this several times within a lease. */
  async renew(): Promise<void> {
    const own = this.#hold();
    const logs = [...this.#logs.values()].map((log) => log.renew());
    const readings = [...this.#readings.values()].map((reading) => this.#check(reading));
    await Promise.allSettled([own, ...logs, ...readings]);
  }

  /** Resolves once the written frames are in Redis, or cannot be soon. */
  async close(): Promise<void> {
    const flushed = [...this.#logs.values()].map((log) => log.flushed());
    await Promise.race([Promise.all(flushed), wait(FLUSH_TIMEOUT_MS, null, { ref: false })]);
    await this.#options.redis.run((client) => client.unlink(keys.lease(this.#epoch))).catch(() => {});
    this.#feed.close();
  }

  /** Time within which a client may come back, plus the time until a lost gateway is known to be gone. */
  get #keptMs(): number {
    return this.#options.resumeMs + LEASE_MS;
  }

  get #epoch(): string {
    return this.#serving.epoch;
  }

  get #serving(): LiveGenerations {
    if (!this.#live) throw new Error('the generations are not served yet');
    return this.#live;
  }

  /** Renews the lease. Where it may have run out, others may have ended some of our generations: those are dropped. */
  async #hold(): Promise<void> {
    const { redis } = this.#options;
    const [lease, inbox] = [keys.lease(this.#epoch), keys.inbox(this.#epoch)];
    const askedMs = performance.now();
    await redis.run(async (client) => {
      await client.pExpire(inbox, this.#keptMs);
      // A Redis without room refuses to set it, but not to keep it.
      const held = await client.pExpire(lease, LEASE_MS);
      if (!held) await client.set(lease, '1', { expiration: { type: 'PX', value: LEASE_MS } });
    });
    if (askedMs >= this.#leasedUntilMs)
      await Promise.all([...this.#logs.values()].map((log) => log.verify()));
    this.#leasedUntilMs = askedMs + LEASE_MS;
  }

  /**
   * Looks up a generation, and ends it if its gateway is gone. None counts as gone when Redis has just come back,
   * because none could renew its lease.
   * @throws ApiError 503 `state_unavailable`
   */
  async #look({ id, epoch }: ResumePoint, { name: owner }: Principal): Promise<Look | null> {
    const { redis } = this.#options;
    const mayEnd = redis.upForMs > LEASE_MS;
    return redis.run((client) => client.look({ id, epoch, owner }, { mayEnd, keptMs: this.#keptMs }));
  }

  #readerOf(
    { id, epoch, offset }: ResumePoint,
    { model, next }: Look,
    name: ReaderName,
    over: () => void,
  ): LogReader {
    const key = keys.events(id);
    return new LogReader({
      id,
      model,
      offset,
      written: next,
      historyLimits: this.#options.history,
      follow: (from, received) => this.#feed.follow(key, `${from}-0`, received),
      stop: () => this.#feed.leave(key),
      acknowledge: () => {
        const reading = this.#readings.get(name.number);
        if (reading) this.#acknowledge(reading).catch(() => {}); // again with the next renewal
      },
      act: (action) => this.#tell(epoch, { type: 'act', id, reader: name, action }),
      over: () => {
        this.#readings.delete(name.number);
        over();
      },
    });
  }

  /** @throws ApiError 503 `state_unavailable` */
  async #acknowledge(reading: Reading): Promise<void> {
    const { name, principal, reader, reported, point } = reading;
    const about = { id: point.id, owner: principal.name, reader: name };
    await this.#say(point.epoch, { type: 'read', ...about, offset: reader.next, first: !reported });
    reading.reported = true;
  }

  /** Whether one that is read here still can be. */
  async #check(reading: Reading): Promise<void> {
    const { reader, point, principal } = reading;
    const { redis, resumeMs } = this.#options;
    try {
      const found = await this.#look(point, principal);
      if (!found) return reader.lost('not_recovered');
      if (reader.over) return;
      if (found.ended !== 'owner_lost') await this.#acknowledge(reading);
      reading.seenMs = performance.now();
    } catch {
      // Redis is away, or refuses; it says so itself.
    }
    // The connection that reads may notice the end of a pause of Redis a little later.
    const silentMs = redis.upForMs > REFUSED_MS ? this.#feed.silentMs : 0;
    const unseenMs = Math.max(performance.now() - reading.seenMs, silentMs);
    // The limit is resumeMs, because its gateway does not wait for us longer, either.
    if (unseenMs > (redis.up ? Math.min(REFUSED_MS, resumeMs) : resumeMs))
      reader.lost(redis.up ? 'state_unavailable' : 'not_recovered');
  }

  /** Sends a message; it is lost if the other gateway is gone. @throws ApiError 503 `state_unavailable` */
  async #say(gateway: string, message: Message): Promise<void> {
    const text = JSON.stringify(message);
    await this.#options.redis.run((client) => client.tell(gateway, text, MOST_MESSAGES, this.#keptMs));
  }

  /** The same for a message that may be lost. */
  #tell(gateway: string, message: Message): void {
    this.#say(gateway, message).catch(() => {}); // Redis is away, and says so itself
  }

  #wake(): void {
    const { redis } = this.#options;
    const TRIM = { strategy: 'MAXLEN', strategyModifier: '~', threshold: MOST_MESSAGES } as const;
    redis.run((client) => client.xAdd(keys.inbox(this.#epoch), '*', { wake: '' }, { TRIM })).catch(() => {});
  }

  #receive(entries: readonly Entry[]): void {
    for (const { message } of entries) {
      if (message.m === undefined) continue; // it woke us
      const parsed = messageOf(message.m);
      if (parsed) this.#heard(parsed);
      else
        this.#options.logger.warn('a message of another gateway cannot be read: is it of another version?');
    }
  }

  #heard(message: Message): void {
    if (message.type === 'read') this.#remote?.read(message);
    else if (message.type === 'act') this.#remote?.act(message);
    else if (message.type === 'lost') this.#readings.get(message.number)?.reader.lost(message.code);
    else this.#serving.forgetLost(message.owner, message.requestId);
  }
}

function messageOf(text: string): Message | null {
  try {
    return messageSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
