import type { ModelConfig } from '../../checkpoint/config.js';
import type { Graph } from '../../onnx/graph.js';
import type { BoundSessionOptions } from './bound-session.js';
import { OrtLibrary } from './ort-library.js';
import { ResidentGraph } from './resident-graph.js';
import { ResidentKeys } from './resident-keys.js';

/** The graphs of a process whose keys and values stay on the device; one copy of these serves all of them. */
export class ResidentGraphs {
  readonly #library: OrtLibrary;
  readonly #keys: ResidentKeys;
  readonly #config: ModelConfig;
  readonly #options: BoundSessionOptions;
  readonly #opened = new Map<string, ResidentGraph>();

  private constructor(library: OrtLibrary, config: ModelConfig, options: BoundSessionOptions) {
    this.#library = library;
    this.#config = config;
    this.#options = options;
    this.#keys = new ResidentKeys(library, config, options);
  }

  /** `null` where the package `koffi` is not installed. @throws Error where the library cannot be loaded */
  static async open(config: ModelConfig, options: BoundSessionOptions): Promise<ResidentGraphs | null> {
    const library = await OrtLibrary.load();
    return library && new ResidentGraphs(library, config, options);
  }

  /** @param key the same for the same graph */
  get(key: string, build: () => Graph): ResidentGraph {
    const known = this.#opened.get(key);
    if (known) return known;
    const parts = { library: this.#library, keys: this.#keys };
    const graph = new ResidentGraph(parts, build(), this.#config, this.#options);
    this.#opened.set(key, graph);
    return graph;
  }
}
