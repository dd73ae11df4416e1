import type { Backend } from '../../src/engine/device.js';
import { EngineError, type EngineErrorCode } from '../../src/engine/engine-errors.js';
import type { FromDecode, FromScore, ToDecode, ToScore } from '../../src/engine/engine-messages.js';
import type { ProcessLink, StreamHandle, StreamListener } from '../../src/engine/engine-process.js';
import type { EngineHost } from '../../src/engine/host.js';
import type { ServerStatus } from '../../src/engine/server/score-servers.js';
import type { Channel } from './channel.js';
import type { EngineState, PrimarySide, ProcessName } from './worker-messages.js';

type Primary = Channel<PrimarySide>;
type From = FromDecode | FromScore;

/** The engine processes that the primary process has, as a worker uses them. */
export class RemoteEngines {
  readonly #primary: Primary;
  readonly #processes = new Map<string, RemoteProcesses>();
  readonly #streams: Streams = new Map();

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  host(model: string, state: EngineState): EngineHost {
    const [primary, streams] = [this.#primary, this.#streams];
    const decode = new RemoteProcess<ToDecode, FromDecode>({ model, role: 'decode' }, primary, streams);
    const score = new RemoteProcess<ToScore, FromScore>({ model, role: 'score' }, primary, streams);
    this.#processes.set(model, { decode, score });
    this.changed(model, state);
    return {
      decode,
      score,
      admit: async (role, need, positions) => {
        const slot = await primary.call('admit', { model, role }, need, positions);
        return () => primary.tell('release', slot);
      },
    };
  }

  changed(model: string, state: EngineState): void {
    const processes = this.#processes.get(model);
    processes?.decode.changed(state.decode);
    processes?.score.changed(state.score);
  }

  received(stream: number, message: From): void {
    this.#streams.get(stream)?.receive(message);
  }

  lost(stream: number, code: EngineErrorCode, message: string): void {
    const listener = this.#streams.get(stream);
    this.#streams.delete(stream);
    listener?.fail(new EngineError(code, message));
  }
}

interface RemoteProcesses {
  readonly decode: RemoteProcess<ToDecode, FromDecode>;
  readonly score: RemoteProcess<ToScore, FromScore>;
}

/** Listeners to the streams of a worker, by the numbers that it gives them. */
type Streams = Map<number, StreamListener<From>>;

let count = 0;

class RemoteProcess<Out extends ToDecode | ToScore, In extends From> implements ProcessLink<Out, In> {
  readonly #name: ProcessName;
  readonly #primary: Primary;
  readonly #streams: Streams;
  readonly #own = new Set<StreamListener<In>>();
  pid: number | undefined;
  device: Backend | undefined;
  restarts = 0;
  servers: readonly ServerStatus[] = [];

  constructor(name: ProcessName, primary: Primary, streams: Streams) {
    this.#name = name;
    this.#primary = primary;
    this.#streams = streams;
  }

  get waiting(): number {
    return [...this.#own].filter((listener) => listener.waits()).length;
  }

  changed({ pid, device, restarts, servers }: EngineState['decode']): void {
    this.pid = pid;
    this.device = device;
    this.restarts = restarts;
    this.servers = servers;
  }

  /** The primary process starts it before there are workers, and again after a crash. */
  async ready(): Promise<void> {}

  async attach(listener: StreamListener<In>): Promise<StreamHandle<Out>> {
    const primary = this.#primary;
    count += 1;
    const stream = count;
    this.#streams.set(stream, listener);
    this.#own.add(listener);
    const forget = (): void => {
      this.#streams.delete(stream);
      this.#own.delete(listener);
    };
    try {
      return {
        // Messages name it as the engine's process does.
        stream: await primary.call('attach', this.#name, stream),
        send: (message) => primary.tell('engine', stream, message),
        detach: () => {
          forget();
          primary.tell('detach', stream);
        },
      };
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Does nothing: other workers use the engine, too. */
  async close(): Promise<void> {}
}
