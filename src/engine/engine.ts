import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { type Checkpoint, type OpenCheckpointOptions, openCheckpoint } from '../checkpoint/checkpoint.js';
import type { ModelSource } from '../graphs/decoder.js';
import { debug } from './debug.js';
import { type Backend, type DeviceChoice, hasPrecision, type Precision } from './device.js';
import { EngineError } from './engine-errors.js';
import type { FromDecode, FromScore, OpenMessage, Role, ToDecode, ToScore } from './engine-messages.js';
import { EngineProcess, type ProcessLoss, type ProcessStatus } from './engine-process.js';
import { type CompleteRequest, type GenerateRequest, Generation } from './generation.js';
import { type EngineHost, OwnHost } from './host.js';
import { decodeMemory, type MemoryNeed, type ScoreSize, scoreMemory } from './memory.js';
import { MemoryBudget } from './memory-budget.js';
import { devicesFor, halvesFor, integersFor, precisionOf } from './precision.js';
import { longestSilence, type Machine } from './run-limits.js';
import { samplingDefaults } from './sampler.js';
import { checkIds, ScoreSequence } from './score-sequence.js';
import { type RecordedScores, readRecordedScores, type ScoreServers } from './server/score-servers.js';
import { Share } from './shared-hold.js';
import { TextWork } from './text/text-work.js';

export interface EngineOptions extends OpenCheckpointOptions {
  /**
   * Threads of each process; by default as many as there are cores. They do not spin, so that two processes share the
   * cores: each is faster with all of them than with half.
   */
  readonly threads?: number;
  /**
   * Device for both writing and scoring: `cpu` (default), `webgpu`, `cuda`, or `auto` for the best that
   * works.
   */
  readonly device?: DeviceChoice;
  /**
   * Precision in which the model writes, and in which the derivatives of Adv. Pert. are computed: `fp32`, or what is faster,
   * `int8` on a CPU and `bf16` on CUDA. Default: `int8` on a CPU for a model whose weights are in integers (GGUF, GPTQ, AWQ),
   * else `fp32`. Rounded weights are made at the first start and kept in the user's cache folder, or in a temporary one. All
   * else that scores is in fp32 in any of them.
   */
  readonly precision?: Precision;
  /** Responses that may be under way at once; one more is refused. Default 16. */
  readonly maxStreams?: number;
  /** The most positions of one sequence. By default the model's own limit, at most 8192. */
  readonly contextLength?: number;
  /**
   * Bytes of private memory that sequences may be predicted to need, both processes together; one that does not fit is
   * refused. By default 70 % of what is available when the engine opens. A tenth of it, at most 1 GiB, is for prompts that
   * were read ({@link GenerateRequest.client}).
   */
  readonly memoryLimit?: number;
  /**
   * Seconds without progress after which a process is killed and started anew, on top of what its longest run takes on a
   * slow machine. Default 60.
   */
  readonly stallSeconds?: number;
  /** Whether nothing is written here: else passes have what writing leaves of the cores. */
  readonly scoresOnly?: boolean;
  /** Inference servers that run the graphs of score passes, and the model's name there. What does not write needs no more. */
  readonly scoreServers?: Pick<ScoreServers, 'urls' | 'model'> | undefined;
  /** Owner of the processes, if it is not this engine; it then determines threads, device and limits. */
  readonly host?: EngineHost;
  /** Milliseconds since any fixed moment. */
  readonly now?: () => number;
}

const DEFAULT_MAX_STREAMS = 16;
const DEFAULT_CONTEXT_LIMIT = 8192;
/** Share of free memory that sequences may take, as predicted. */
export const DEFAULT_MEMORY_SHARE = 0.7;
const DEFAULT_STALL_SECONDS = 60;
/** How much longer a pass may take on cores on which models write, at the least, as {@link longestSilence} is ample. */
const PASS_SLOWDOWN = 10;
/** Share of the memory, in each of the two processes. */
const PREFIX_SHARE = 0.05;
const MAX_PREFIX_BYTES = 2 ** 29;

/**
 * A model that writes and scores: two child processes that map the same weights. Both start on first use and start
 * again after a crash.
 *
 * @example
 * const engine = await Engine.open('models/reasoner');
 * await engine.close();
 */
export class Engine {
  readonly checkpoint: Checkpoint;
  readonly contextLength: number;
  /** Memory of the engine's own processes; not used if a host owns them. */
  readonly memory: MemoryBudget;
  /** Whether inference servers run the graphs of score passes: those that are exported, and no others. */
  readonly scoresOnServers: boolean;
  /** Owner of the processes, which other engines may share. */
  readonly host: EngineHost;
  /** Encodes texts of requests, without holding up this thread. */
  readonly text: TextWork;
  readonly #threads: number;
  readonly #precision: Precision;
  readonly #now: () => number;
  readonly #passListeners = new Set<(ms: number) => void>();
  readonly #lossListeners = new Set<(loss: ProcessLoss) => void>();
  readonly #changeListeners = new Set<() => void>();
  #streams = 0;

  private constructor(checkpoint: Checkpoint, options: EngineOptions, files: WeightFiles) {
    this.checkpoint = checkpoint;
    const { maxPositions, vocabSize } = checkpoint.config;
    this.text = new TextWork(checkpoint, { dir: checkpoint.dir, vocabSize });
    this.scoresOnServers = options.scoreServers !== undefined;
    this.contextLength = Math.min(options.contextLength ?? DEFAULT_CONTEXT_LIMIT, maxPositions);
    this.#precision = precisionOf(checkpoint, options);
    this.#now = options.now ?? (() => performance.now());
    this.#threads = options.threads ?? availableParallelism();
    const memory = options.memoryLimit ?? DEFAULT_MEMORY_SHARE * process.availableMemory();
    const prefixCacheBytes = Math.floor(Math.min(PREFIX_SHARE * memory, MAX_PREFIX_BYTES));
    this.memory = new MemoryBudget(memory - 2 * prefixCacheBytes);
    this.host = options.host ?? this.#ownHost(options, { ...files, prefixCacheBytes });
  }

  #ownHost(
    {
      device = 'cpu',
      precision,
      maxStreams = DEFAULT_MAX_STREAMS,
      stallSeconds = DEFAULT_STALL_SECONDS,
      scoresOnly = false,
      scoreServers,
      onConversion,
    }: EngineOptions,
    { integers, rounded, recorded, prefixCacheBytes }: WeightFiles & Pick<OpenMessage, 'prefixCacheBytes'>,
  ): EngineHost {
    const { config, tensors, weightBytes } = this.checkpoint;
    const open = (role: Role): Omit<OpenMessage, 'device'> => {
      const threads = this.#threads;
      const scores = role === 'score' && scoreServers && recorded;
      // What servers run is in fp32.
      const source = { config, tensors, ...(rounded && !scores && { rounded }) };
      const servers = scores ? { ...scoreServers, recorded, requestMs: 1000 * stallSeconds } : null;
      return {
        type: 'open',
        role,
        source,
        integers,
        servers,
        threads,
        contextLength: this.contextLength,
        prefixCacheBytes,
        givesWay: role === 'score' && !scoresOnly,
      };
    };
    const devices = devicesFor({ device, ...(precision && { precision }) });
    const largest = { positions: this.contextLength, weightBytes };
    const optionsOf = (role: Role) => ({
      onConversion,
      onLoss: (loss: ProcessLoss): void => {
        for (const listener of this.#lossListeners) listener(loss);
      },
      onChange: (): void => {
        for (const listener of this.#changeListeners) listener();
      },
      stallMs: (device: Backend): number => {
        const silence = longestSilence({ ...this.machine(role), device }, largest);
        const slower = role === 'score' && !scoresOnly && device === 'cpu' ? PASS_SLOWDOWN : 1;
        return 1000 * (stallSeconds + slower * silence);
      },
    });
    const decode = new EngineProcess<ToDecode, FromDecode>(open('decode'), devices, optionsOf('decode'));
    const scoring = scoreServers ? (['inference-server'] as const) : devices;
    const score = new EngineProcess<ToScore, FromScore>(open('score'), scoring, optionsOf('score'));
    return new OwnHost({ decode, score, memory: this.memory, maxStreams });
  }

  /**
   * @param model checkpoint folder, or a GGUF file
   * @throws ModelError when it does not hold a model that flinch can run; UsageError for a precision that the
   *   device does not have
   */
  static async open(model: string, options: EngineOptions = {}): Promise<Engine> {
    devicesFor(options); // refuses before weights are made
    const checkpoint = await openCheckpoint(model, options);
    const integers = await integersFor(checkpoint, options);
    const rounded = await halvesFor(checkpoint, options);
    const recorded = options.scoreServers ? await readRecordedScores(checkpoint) : null;
    return new Engine(checkpoint, options, { integers, rounded, recorded });
  }

  /** Starts processes ahead of their first use. */
  async start(roles: readonly Role[] = ['decode', 'score']): Promise<void> {
    await Promise.all(roles.map((role) => this.host[role].ready()));
  }

  /** The request with the defaults of the checkpoint, and a seed. */
  complete(request: GenerateRequest): CompleteRequest {
    const { maxTokens = Math.max(1, this.contextLength - request.promptIds.length) } = request;
    const { endIds = this.checkpoint.eosTokenIds, stop = [], topLogprobs = 0 } = request;
    const defaults = samplingDefaults(this.checkpoint.generation);
    const { temperature, topK, topP, seed } = request.sampling ?? {};
    const sampling = {
      temperature: temperature ?? defaults.temperature,
      topK: topK ?? defaults.topK,
      topP: topP ?? defaults.topP,
      seed: seed ?? randomInt(2 ** 31),
    };
    return { ...request, maxTokens, endIds, stop, topLogprobs, sampling };
  }

  /**
   * @throws EngineError `too_long`, `memory`, `overloaded`, `unavailable`, `closed`; RangeError for an empty prompt, an id
   *   outside the vocabulary or no tokens
   */
  async generate(asked: GenerateRequest): Promise<Generation> {
    const request = this.complete(asked);
    if (request.promptIds.length === 0) throw new RangeError('promptIds: needs at least one token');
    if (!Number.isInteger(request.maxTokens) || request.maxTokens < 1) {
      throw new RangeError('maxTokens: must be a whole number from 1');
    }
    const positions = request.promptIds.length + request.maxTokens;
    if (positions > this.contextLength) {
      throw new EngineError(
        'too_long',
        `${request.promptIds.length} prompt tokens plus ${request.maxTokens} new tokens exceed the context length of ${this.contextLength}`,
      );
    }
    checkIds('promptIds', request.promptIds, this.checkpoint.config.vocabSize);
    const need = copies(decodeMemory(this.machine('decode'), positions), request.forks);
    const release = await this.host.admit('decode', need, positions);
    this.#streams += 1;
    const share = new Share(() => {
      this.#streams -= 1;
      release();
    });
    debug('generate: %d prompt tokens, %d to write at most', request.promptIds.length, request.maxTokens);
    const letGo = share.hold();
    try {
      return await Generation.start(
        { process: this.host.decode, tokenizer: this.checkpoint.tokenizer, share },
        request,
      );
    } finally {
      letGo();
    }
  }

  /**
   * @param size the longest that the sequence may become, and the range of its passes; by default all of the
   * context
   * @param forks how many other continuations there may be at a time ({@link ScoreSequence.fork})
   * @param client the client of the sequence: sequences of several clients get the same time each
   * @throws EngineError `memory`, `overloaded`, `unavailable`, `closed`
   */
  async openSequence(size: Partial<ScoreSize> = {}, forks = 0, client = ''): Promise<ScoreSequence> {
    const { positions = this.contextLength } = size;
    const { window = positions, scored = positions, replicas = 0 } = size;
    const need = copies(scoreMemory(this.machine('score'), { positions, window, scored, replicas }), forks);
    const share = new Share(await this.host.admit('score', need, positions));
    debug('score: a sequence of up to %d positions, windows of %d, %d replicas', positions, window, replicas);
    const letGo = share.hold();
    try {
      return await ScoreSequence.open({
        process: this.host.score,
        vocabSize: this.checkpoint.config.vocabSize,
        client,
        share,
        passed: (ms) => {
          debug('pass: %d ms', Math.round(ms));
          for (const listener of this.#passListeners) listener(ms);
        },
        now: this.#now,
      });
    } finally {
      letGo();
    }
  }

  /** See {@link EngineOptions.precision}. */
  get precision(): Precision {
    const { device } = this.host.decode;
    return hasPrecision(device ?? 'auto', this.#precision) ? this.#precision : 'fp32';
  }

  /** Parameters for predictions of time and memory. */
  machine(role: Role): Machine {
    const { device } = this.host[role];
    return { config: this.checkpoint.config, threads: this.#threads, ...(device && { device }) };
  }

  /**
   * Tells how long each score pass took, and each sample of perturbed copies: milliseconds from the question to the
   * answer, waiting for others included.
   * @returns ends it
   */
  onPass(listener: (ms: number) => void): () => void {
    this.#passListeners.add(listener);
    return () => this.#passListeners.delete(listener);
  }

  /**
   * Tells which process died, and why one could not be started: an idle one, too, of which no response tells.
   * @returns ends it
   */
  onLoss(listener: (loss: ProcessLoss) => void): () => void {
    this.#lossListeners.add(listener);
    return () => this.#lossListeners.delete(listener);
  }

  /**
   * Tells that a process runs, or runs no more.
   * @returns ends it
   */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /** State of each process: its id and device while it runs, and its waiting work. */
  status() {
    const of = ({ pid, restarts, device, waiting, servers }: ProcessStatus, precision: Precision) => ({
      pid,
      restarts,
      device,
      precision,
      waiting,
      servers,
    });
    const { decode, score } = this.host;
    return { streams: this.#streams, decode: of(decode, this.precision), score: of(score, 'fp32') };
  }

  async close(): Promise<void> {
    await Promise.all([this.host.decode.close(), this.host.score.close(), this.text.close()]);
  }
}

/** Results of the checks before an engine is made. */
interface WeightFiles {
  readonly integers: OpenMessage['integers'];
  readonly rounded: ModelSource['rounded'];
  readonly recorded: RecordedScores | null;
}

/** Memory of a sequence and its forks, which never run at the same time. */
const copies = ({ kept, run }: MemoryNeed, forks = 0): MemoryNeed => ({ kept: kept * (1 + forks), run });
