import type * as ort from 'onnxruntime-node';
import type { ModelSource } from '../../graphs/decoder.js';
import type { GraphRunners, GraphSpec } from '../child/graph-sessions.js';
import type { Feeds, Fetches, GraphRunner } from '../ort-session.js';
import { type ExpectedTensor, partTensors, sizesOf } from './infer-message.js';
import { buildServedGraph, SERVED_GRAPH_NAMES, type ServedGraph, servedGraphOf } from './served-graphs.js';
import type { ServerAddress, Signature } from './server-address.js';
import { ServerFault } from './server-fault.js';

export type Signatures = ReadonlyMap<ServedGraph, Signature>;

/** What the graphs of a model take and give; no weight is read. */
export const signaturesOf = (source: ModelSource): Signatures =>
  new Map(
    SERVED_GRAPH_NAMES.map((name) => {
      const { inputs, outputs } = buildServedGraph(source, name);
      return [name, { inputs, outputs: outputs.map(({ name, value }) => ({ ...value, name })) }];
    }),
  );

/** Runs a graph of the model somewhere. */
export type Infer = (
  graph: ServedGraph,
  ...run: Parameters<ServerAddress['infer']> extends [string, ...infer Rest] ? Rest : never
) => ReturnType<ServerAddress['infer']>;

/** Graphs that are run by inference servers, one sequence in a run: keys and values are sent with every request. */
export class ServerSessions implements GraphRunners {
  readonly tokurBases = null;
  readonly #signatures: Signatures;
  readonly #vocabSize: number;
  readonly #infer: Infer;

  constructor(signatures: Signatures, vocabSize: number, infer: Infer) {
    this.#signatures = signatures;
    this.#vocabSize = vocabSize;
    this.#infer = infer;
  }

  batchSize(): number {
    return 1;
  }

  async get(spec: GraphSpec): Promise<GraphRunner> {
    const graph = servedGraphOf(spec);
    const { inputs, outputs } = this.#signatures.get(graph)!;
    const run = async (feeds: Feeds, fetches: Fetches): Promise<Record<string, ort.Tensor>> => {
      const tensors = partTensors(feeds);
      const sizes = sizesOf(inputs, tensors);
      const wanted = outputs.filter(({ name }) => name in fetches);
      const expected = new Map(
        wanted.map(({ name, type, shape }): [string, ExpectedTensor] => [
          name,
          { type, dims: shape.map((dim) => (typeof dim === 'number' ? dim : sizes.get(dim)!)) },
        ]),
      );
      const answer = await this.#infer(graph, tensors, expected);
      this.#checkIds(answer);
      return answer;
    };
    return {
      inputNames: inputs.map(({ name }) => name),
      outputNames: outputs.map(({ name }) => name),
      run,
    };
  }

  #checkIds(answer: Readonly<Record<string, ort.Tensor>>): void {
    for (const [name, { data }] of Object.entries(answer)) {
      if (!(data instanceof BigInt64Array)) continue;
      const outside = data.find((id) => id < 0n || id >= BigInt(this.#vocabSize));
      if (outside !== undefined) throw new ServerFault(`${name} has an id outside the vocabulary`);
    }
  }
}
