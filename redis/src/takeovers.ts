import type { Logger, Principal, ResumePoint, TakeOver } from 'flinch/state';
import { keys } from './keys.js';
import { LEASE_MS } from './lease.js';
import type { Redis } from './redis.js';
import type { Look } from './scripts.js';

export interface TakeoversOptions {
  readonly redis: Redis;
  readonly logger: Logger;
  readonly keptMs: number;
  readonly tookOver?: (wentOn: boolean) => void;
}

/** A generation that became ours and cannot go on. */
interface Unended {
  readonly fence: string;
  /** Offset of the next frame. */
  readonly next: number;
}

/**
 * Finds generations of other gateways, and takes over those of gateways that are gone: if several gateways look for the
 * same one, Redis gives it to the first. If it cannot go on it gets an end, `owner_lost`.
 */
export class Takeovers {
  readonly #options: TakeoversOptions;
  /** The last look for each that is under way, by id. */
  readonly #looks = new Map<string, Promise<unknown>>();
  /** Generations with an end that is not written yet. */
  readonly #unended = new Map<string, Unended>();
  #epoch = '';
  #takeOver: TakeOver = async () => false;

  constructor(options: TakeoversOptions) {
    this.#options = options;
  }

  /** @param epoch epoch of this gateway */
  serve(epoch: string, takeOver: TakeOver): void {
    this.#epoch = epoch;
    this.#takeOver = takeOver;
  }

  /**
   * Looks up a generation, once the gateway that has it is known. Looks for the same one wait for each other.
   * @throws ApiError 503 `state_unavailable`
   */
  look(point: ResumePoint, principal: Principal): Promise<Look | null> {
    const { id } = point;
    const look = this.settled(id).then(() => this.#look(point, principal));
    const settled = look
      .catch(() => {}) // the caller gets the error
      .finally(() => {
        if (this.#looks.get(id) === settled) this.#looks.delete(id);
      });
    this.#looks.set(id, settled);
    return look;
  }

  /** Resolves once no look for it is under way. */
  async settled(id: string): Promise<void> {
    await this.#looks.get(id);
  }

  /** Ends generations that could not be ended so far. */
  async renew(): Promise<void> {
    await Promise.all([...this.#unended.keys()].map((id) => this.#end(id)));
  }

  /** No gateway counts as dead when Redis has just come back, because none could renew its lease. */
  async #look(point: ResumePoint, principal: Principal): Promise<Look | null> {
    const { redis, logger, keptMs, tookOver } = this.#options;
    const { id, epoch, offset } = point;
    const mayClaim = redis.upForMs > LEASE_MS;
    const how = { gateway: this.#epoch, mayClaim, keptMs, leaseMs: LEASE_MS };
    const found = await redis.run((client) => client.look({ id, epoch, owner: principal.name }, how));
    if (!found || found.claim === null) return found;
    // A client that has more than is written here got it from the gateway that is gone: the continuation is unknown.
    const wentOn = offset <= found.next && (await this.#goOn(point, found, found.claim, principal));
    tookOver?.(wentOn);
    logger.info({ response_id: id, continued: wentOn }, 'the gateway of a generation is gone');
    if (wentOn) return found;
    this.#unended.set(id, { fence: found.claim, next: found.next });
    await this.#end(id);
    return { ...found, ended: 'owner_lost' };
  }

  async #goOn(
    { id, epoch }: ResumePoint,
    { record, first, next }: Look,
    fence: string,
    principal: Principal,
  ): Promise<boolean> {
    if (record === null || first > 0) return false;
    const { logger } = this.#options;
    try {
      const frames = await this.#frames(id);
      if (frames.length !== next) return false;
      return await this.#takeOver({ id, epoch, fence, record, frames }, principal);
    } catch (error) {
      logger.warn({ response_id: id, err: error }, 'generation of a gateway that is gone cannot go on');
      return false;
    }
  }

  /** All from the first on, without a gap. */
  async #frames(id: string): Promise<string[]> {
    const entries = await this.#options.redis.run((client) => client.xRange(keys.events(id), '-', '+'));
    return (entries ?? []).flatMap(({ id: place, message }, i) =>
      Number.parseInt(place, 10) === i + 1 && message.f !== undefined ? [message.f] : [],
    );
  }

  async #end(id: string): Promise<void> {
    const { redis, keptMs } = this.#options;
    const unended = this.#unended.get(id);
    if (!unended) return;
    const { fence, next } = unended;
    const batch = { fence, offset: next, oldest: 0, end: 'owner_lost', keptMs, frames: [] } as const;
    try {
      await redis.run((client) => client.append(id, batch));
      this.#unended.delete(id);
    } catch {
      // Redis is away, and says so itself: again with the next renewal.
    }
  }
}
