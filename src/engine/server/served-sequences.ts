import { randomUUID } from 'node:crypto';
import type * as ort from 'onnxruntime-node';
import type { HeldSequence, Runs } from '../child/held-sequence.js';
import { LEAST_ROOM } from '../child/prefix-cache.js';
import { ADVERSARY, readTokens, STATISTICS } from '../child/score-pass.js';
import { count, RunResult, type Runtime } from '../child/sequence-run.js';
import { debug } from '../debug.js';
import type { PassToken } from '../engine-messages.js';
import { type Feeds, floats, longs } from '../ort-session.js';
import { rowsPerRun } from '../run-limits.js';
import type { AddressPool } from './address-pool.js';
import type { ServerConnection } from './connection.js';
import type { Signature } from './served-graphs.js';
import { LostSequence, Refusal, ServerFault } from './server-fault.js';
import { checkIds, expectedTensors, sentTensors } from './tensors.js';

export interface ServedModel {
  readonly servers: AddressPool<ServerConnection>;
  /** Its name at the servers. */
  readonly name: string;
  readonly signature: Signature;
  readonly runtime: Runtime;
}

/** Part of a text that a server holds. */
interface Held {
  readonly address: ServerConnection;
  readonly id: string;
  /** Positions there; `null` before the first run, when an implicit state has a size of its own. */
  size: number | null;
  /** Number of these, from the beginning, that are of this text. */
  clean: number;
}

/** A run over positions `kept` to `end − 1`, of which those from `start` on are the window. */
interface Rows {
  readonly ids: readonly number[];
  readonly kept: number;
  readonly start: number;
  readonly end: number;
  /** The tokens that follow its last rows. */
  readonly targets: readonly number[];
  readonly attacked: readonly boolean[];
  readonly alpha: number;
}

const OUTPUTS = [...STATISTICS, ...ADVERSARY.derivative, 'held'];

/** onnxruntime dies of a division by zero when no row is scored: one is, for nothing. */
const UNSCORED = { targets: [0], attacked: [false], alpha: 0 } as const;

/**
 * A sequence whose keys and values an inference server holds between runs: Triton's implicit state.
 *
 * A run that fails for any reason gives up the sequence at the server, because its state is unknown. The text is then
 * read again, once, as a new sequence, at another address if there is one.
 */
export class ServedSequence implements HeldSequence {
  readonly #model: ServedModel;
  #held: Held | null;
  /** Address at which the last run failed. */
  #avoid: ServerConnection | undefined;
  #busy = false;
  #released = false;

  constructor(model: ServedModel, held: Held | null = null) {
    this.#model = model;
    this.#held = held;
  }

  *read(ids: readonly number[], end: number): Runs<void> {
    yield* this.#twice(() => this.#fill(ids, end));
  }

  *score(
    ids: readonly number[],
    { start, from, to, adversary, top }: Parameters<HeldSequence['score']>[1],
  ): Runs<PassToken[]> {
    if (top !== undefined) throw new Error(`an inference server has no graph for ${top} top tokens`);
    if (!adversary) return yield* this.#twice(() => this.#plain(ids, from, to));
    const targets = ids.slice(from, to);
    const { alpha, attacked = targets.map(() => true) } = adversary;
    return yield* this.#twice(() => this.#attack({ ids, start, end: to - 1, targets, attacked, alpha }));
  }

  fork(length: number): HeldSequence {
    const held = this.#held;
    if (this.#busy || !held) return new ServedSequence(this.#model);
    this.#held = null;
    return new ServedSequence(this.#model, { ...held, clean: Math.min(held.clean, length) });
  }

  /** Frees the sequence at the server. If this request is lost, the server frees it after its idle time. */
  release(): void {
    this.#released = true;
    const held = this.#held;
    if (this.#busy || !held) return;
    this.#held = null;
    const last = { ids: [0], kept: 0, start: 0, end: 1, ...UNSCORED };
    this.#send(held, last, true)
      .catch((error: unknown) => debug('sequence %s could not be ended: %s', held.id, error))
      .finally(() => this.#model.servers.leave(held.address, false));
  }

  *#twice<Result>(work: () => Runs<Result>): Runs<Result> {
    try {
      return yield* work();
    } catch (error) {
      if (!(error instanceof ServerFault)) throw error;
    }
    return yield* work();
  }

  /** Keys and values of the first `end` positions, as far as they are not held. */
  *#fill(ids: readonly number[], end: number): Runs<void> {
    const size = rowsPerRun(this.#model.runtime, { keys: end, passes: 1, scored: false });
    while (this.#clean < end) {
      const kept = this.#clean;
      const to = Math.min(end, kept + size);
      yield async () => {
        await this.#run({ ids, kept, start: to - 1, end: to, ...UNSCORED });
      };
    }
  }

  /** Reads the tokens that do not fit into the next run as well. */
  *#approach(ids: readonly number[], start: number): Runs<void> {
    if (start - this.#clean > LEAST_ROOM) yield* this.#fill(ids, start);
  }

  /** A plain forward pass over tokens `from` to `to − 1`, in as many runs as it takes. */
  *#plain(ids: readonly number[], from: number, to: number): Runs<PassToken[]> {
    const size = rowsPerRun(this.#model.runtime, { keys: to, passes: 1, scored: true });
    const tokens: PassToken[] = [];
    yield* this.#approach(ids, from - 1);
    for (let start = from - 1; start < to - 1; start += size) {
      const end = Math.min(to - 1, start + size);
      const targets = ids.slice(start + 1, end + 1);
      const attacked = targets.map(() => false);
      yield async () => {
        const kept = Math.min(this.#clean, start);
        const result = await this.#run({ ids, kept, start: end - 1, end, targets, attacked, alpha: 0 });
        tokens.push(...tokensOf(result, targets, null));
      };
    }
    return tokens;
  }

  *#attack(window: Omit<Rows, 'kept'>): Runs<PassToken[]> {
    const { ids, start, targets, alpha } = window;
    let tokens: PassToken[] = [];
    yield* this.#approach(ids, start);
    yield async () => {
      const result = await this.#run({ ...window, kept: Math.min(this.#clean, start) });
      tokens = tokensOf(result, targets, { form: 'derivative', alpha });
    };
    return tokens;
  }

  get #clean(): number {
    return this.#held?.clean ?? 0;
  }

  async #run(rows: Rows): Promise<RunResult> {
    const { servers } = this.#model;
    this.#busy = true;
    try {
      this.#held ??= { address: servers.take(this.#avoid), id: randomUUID(), size: null, clean: 0 };
      const result = await this.#send(this.#held, rows, false);
      this.#held.size = this.#held.clean = rows.end;
      this.#avoid = undefined;
      return result;
    } catch (error) {
      const held = this.#held;
      if (held) {
        // An address that lost the sequence may be used for it again.
        this.#avoid = error instanceof LostSequence ? undefined : held.address;
        this.#held = null;
        servers.leave(held.address, true);
      }
      throw error;
    } finally {
      this.#busy = false;
      if (this.#released) this.release();
    }
  }

  async #send({ address, id, size }: Held, rows: Rows, end: boolean): Promise<RunResult> {
    const { servers, name, signature, runtime } = this.#model;
    const inputs = sentTensors(feedsOf(rows, runtime));
    const expected = expectedTensors(signature, inputs, OUTPUTS);
    const sequence = { id, start: size === null, end };
    const answer = await servers.at(address, async (server) => {
      try {
        const tensors = await server.infer(name, { inputs, expected, sequence });
        const held = Number(tensors.held!.data[0]);
        if (size !== null && held !== size) {
          throw new LostSequence(`it held ${held} positions of a sequence instead of ${size}`);
        }
        checkIds(tensors, runtime.config.vocabSize);
        return tensors;
      } catch (error) {
        if (size !== null && error instanceof Refusal) throw new LostSequence(error.message);
        throw error;
      }
    });
    return new RunResult(answer);
  }
}

const tokensOf = (
  result: RunResult,
  targets: readonly number[],
  step: Parameters<typeof readTokens>[3],
): PassToken[] => readTokens(result, STATISTICS, [{ targets }], step)[0]!;

function feedsOf(
  { ids, kept, start, end, targets, attacked, alpha }: Rows,
  { config, rotary }: Runtime,
): Feeds {
  const feeds: Record<string, ort.Tensor> = {
    'past_positions.0': longs(count(0, kept), [kept]),
    rows: longs(count(end - kept - targets.length, targets.length), [targets.length]),
    targets: longs(targets, [targets.length]),
    attacked: floats(Float32Array.from(attacked, Number), [attacked.length]),
    alpha: floats(Float32Array.of(alpha), [1]),
  };
  const parts = [
    { prefix: 'lead_', from: kept, to: start, names: ['lead_ids', 'lead_positions'] },
    { prefix: '', from: start, to: end, names: ['ids.0', 'positions.0'] },
  ] as const;
  for (const { prefix, from, to, names } of parts) {
    const size = to - from;
    const positions = count(from, size);
    feeds[names[0]] = longs(ids.slice(from, to), [size]);
    feeds[names[1]] = longs(positions, [size]);
    for (const [r, rope] of rotary.entries()) {
      const { cos, sin } = rope.angles(positions);
      const dims = [1, size, config.ropes[r]!.dimensions / 2];
      feeds[`${prefix}cos.${r}`] = floats(cos, dims);
      feeds[`${prefix}sin.${r}`] = floats(sin, dims);
    }
  }
  return feeds;
}
