import type * as ort from 'onnxruntime-node';
import type { GraphRunners, GraphSpec } from '../child/graph-sessions.js';
import type { Feeds, Fetches, GraphRunner } from '../ort-session.js';
import type { InferenceRun } from './connection.js';
import { type ServedGraph, type Signature, servedGraphOf } from './served-graphs.js';
import { checkIds, expectedTensors, sentTensors } from './tensors.js';

export type Signatures = ReadonlyMap<ServedGraph, Signature>;

/** Runs a graph of the model somewhere. */
export type Infer = (graph: ServedGraph, run: InferenceRun) => Promise<Record<string, ort.Tensor>>;

/** Graphs that are run by inference servers, one sequence in a run: keys and values are sent with every request. */
export class ServerSessions implements GraphRunners {
  readonly rounds = false;
  readonly fillsUp = false;
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
    const signature = this.#signatures.get(graph)!;
    const { inputs, outputs } = signature;
    const run = async (feeds: Feeds, fetches: Fetches): Promise<Record<string, ort.Tensor>> => {
      const tensors = sentTensors(feeds);
      const expected = expectedTensors(signature, tensors, Object.keys(fetches));
      const answer = await this.#infer(graph, { inputs: tensors, expected });
      checkIds(answer, this.#vocabSize);
      return answer;
    };
    return {
      inputNames: inputs.map(({ name }) => name),
      outputNames: outputs.map(({ name }) => name),
      run,
    };
  }
}
