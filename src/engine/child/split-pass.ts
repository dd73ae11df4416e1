import type { ModelSource } from '../../graphs/decoder.js';
import { buildPassGraphs, buildStatisticsGraph } from '../../graphs/pass-graphs.js';
import {
  type Feeds,
  type Fetches,
  floats,
  type OpenedGraph,
  openSession,
  type SessionOptions,
} from '../ort-session.js';
import { paddedFeeds } from './padded-feeds.js';
import { count } from './sequence-run.js';

/** A packed copy takes 7 bits for an integer of 4, and no more than this share of the memory that is available. */
const COPY = 7 / 4;
const SHARE = 1 / 8;

interface Opened {
  readonly forward: OpenedGraph;
  readonly backward: OpenedGraph;
  readonly handedOn: readonly string[];
}

/**
 * Runs `score` and `forward` graphs of up to so many sequences with two sessions in all, those of {@link buildPassGraphs}:
 * the forward one has the only packed copy of the weights, if there is memory for it.
 */
export class SplitPass {
  readonly #source: ModelSource;
  readonly #options: SessionOptions;
  readonly #sequences: number;
  readonly #available: () => number;
  #opened: Promise<Opened> | undefined;

  /** @param available bytes of memory: the weights are read where they are mapped, and slower, if a copy is too large */
  constructor(
    source: ModelSource,
    options: SessionOptions,
    sequences = 1,
    available: () => number = () => process.availableMemory(),
  ) {
    this.#source = source;
    this.#options = options;
    this.#sequences = sequences;
    this.#available = available;
  }

  /** @param adversary whether Adv. Pert. is computed; statistics of the clean rows always are */
  async open(adversary: boolean, top?: number): Promise<OpenedGraph> {
    const { config } = this.#source;
    const { forward, backward, handedOn } = await this.#graphs();
    const { threads } = this.#options;
    const options = { rival: adversary, ...(top !== undefined && { top }) };
    const statistics = await openSession(buildStatisticsGraph(this.#source, options), { threads });
    const run = async (given: Feeds, fetches: Fetches) => {
      const feeds = paddedFeeds(given, this.#sequences, config);
      const { targets, attacked, alpha, ...rest } = feeds;
      const rows = count(0, this.#sequences).reduce((sum, t) => sum + feeds[`ids.${t}`]!.dims[0]!, 0);
      const still = floats(new Float32Array(rows * config.hiddenSize), [rows, config.hiddenSize]);
      const windows = Object.keys(fetches).filter((name) => name.startsWith('window_'));
      const wanted = ['logits', ...windows, ...(adversary ? handedOn : [])];
      const clean = await forward.run({ ...rest, step: still }, nothing(wanted));
      const scored = { logits: clean.logits!, targets: targets! };
      const results = Object.keys(fetches).filter((name) => !windows.includes(name));
      if (!adversary) return { ...clean, ...(await statistics.run(scored, nothing(results))) };
      const all = { ...feeds, ...clean };
      const needed = Object.fromEntries(backward.inputNames.map((name) => [name, all[name]!]));
      const { adversary: step } = await backward.run(needed, nothing(['adversary']));
      const perturbed = await forward.run({ ...rest, step: step! }, nothing(['logits']));
      const both = { ...scored, perturbed_logits: perturbed.logits! };
      return { ...clean, ...(await statistics.run(both, nothing(results))) };
    };
    return {
      inputNames: [...new Set([...forward.inputNames, ...backward.inputNames])],
      outputNames: [...forward.outputNames, ...statistics.outputNames],
      run,
      endProfiling: () => {
        forward.endProfiling();
        backward.endProfiling();
      },
    };
  }

  #graphs(): Promise<Opened> {
    const open = async (): Promise<Opened> => {
      const packs = COPY * integers4(this.#source) <= SHARE * this.#available();
      const { first, second, handedOn } = buildPassGraphs(this.#source, {
        sequences: this.#sequences,
        packs,
      });
      return {
        forward: await openSession(first, { ...this.#options, packed: packs }),
        backward: await openSession(second, this.#options),
        handedOn,
      };
    };
    this.#opened ??= open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }
}

/** Bytes of the weights in integers of 4 bits. */
function integers4({ tensors }: ModelSource): number {
  let bytes = 0;
  for (const weight of tensors.values()) {
    if (weight.type === 'packed' && weight.format.bits === 4) bytes += weight.byteLength;
  }
  return bytes;
}

const nothing = (names: readonly string[]): Fetches => Object.fromEntries(names.map((name) => [name, null]));
