import { setImmediate } from 'node:timers/promises';
import { ModelError } from 'flinch';
import { executionProviders, longs, reasonOf } from 'flinch/internals';
import * as ort from 'onnxruntime-node';
import type { EncoderInput, OpenEncoder } from '../encoder-messages.js';
import { type EncodedInput, openPairTokenizer, type PairTokenizer } from '../pair-tokenizer.js';

/**
 * Tokens of a run, padding included, and rows: a run cannot be interrupted, and takes about a second a core for a model
 * of the size of BERT.
 */
const RUN_TOKENS = 1024;
const MAX_ROWS = 32;

const INPUTS = ['input_ids', 'attention_mask', 'token_type_ids'];
const OUTPUTS = { logits: ['logits'], sentence: ['last_hidden_state', 'token_embeddings'] };

/** A row of numbers for each input. */
export interface Rows {
  readonly rows: Float32Array;
  readonly width: number;
}

/** An encoder in its process. */
export class Inference {
  readonly #session: ort.InferenceSession;
  readonly #tokenizer: PairTokenizer;
  readonly #head: OpenEncoder['head'];
  readonly #output: string;

  private constructor(session: ort.InferenceSession, tokenizer: PairTokenizer, { file, head }: OpenEncoder) {
    this.#session = session;
    this.#tokenizer = tokenizer;
    this.#head = head;
    this.#output = checkGraph(session, file, head);
  }

  /** @throws ModelError that names the file, and the input or output of the graph that is wrong */
  static async open(message: OpenEncoder): Promise<Inference> {
    const { file, folder, maxTokens, threads, device } = message;
    const tokenizer = await openPairTokenizer(folder, maxTokens);
    try {
      const session = await ort.InferenceSession.create(file, {
        executionProviders: executionProviders(device),
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        logSeverityLevel: 3,
        // Spinning threads would take the cores from the engine.
        extra: { session: { intra_op: { allow_spinning: '0' } } },
      });
      return new Inference(session, tokenizer, message);
    } catch (cause) {
      if (cause instanceof ModelError) throw cause;
      throw new ModelError(file, '', `onnxruntime rejects it (${reasonOf(cause)})`, { cause });
    }
  }

  /** Rows in the order of the inputs; inputs of similar length share a run. */
  async encode(inputs: readonly EncoderInput[]): Promise<Rows> {
    const encoded = inputs.map((input) => this.#tokenizer.encode(input));
    const order = encoded.map((_, i) => i).sort((a, b) => encoded[a]!.ids.length - encoded[b]!.ids.length);
    const results: Float32Array[] = [];
    for (const batch of batches(order, (i) => encoded[i]!.ids.length)) {
      const rows = await this.#run(batch.map((i) => encoded[i]!));
      for (const [row, i] of batch.entries()) results[i] = rows[row]!;
      await setImmediate(); // the parent may be gone
    }
    const width = results[0]?.length ?? 0;
    const rows = new Float32Array(width * results.length);
    for (const [i, row] of results.entries()) rows.set(row, i * width);
    return { rows, width };
  }

  async #run(batch: readonly EncodedInput[]): Promise<Float32Array[]> {
    const length = Math.max(...batch.map(({ ids }) => ids.length));
    const padded = (row: (input: EncodedInput) => readonly number[], filling: number): ort.Tensor => {
      const rows = batch.map((input) => {
        const values = row(input);
        return [...values, ...Array<number>(length - values.length).fill(filling)];
      });
      return longs(rows.flat(), [batch.length, length]);
    };
    const all: Readonly<Record<string, ort.Tensor>> = {
      input_ids: padded(({ ids }) => ids, this.#tokenizer.padId),
      attention_mask: padded(({ ids }) => ids.map(() => 1), 0),
      token_type_ids: padded(({ types }) => types, 0),
    };
    const feeds = Object.fromEntries(this.#session.inputNames.map((name) => [name, all[name]!]));
    const output = (await this.#session.run(feeds, [this.#output]))[this.#output];
    if (!output || !(output.data instanceof Float32Array)) throw new Error(`${this.#output} is not fp32`);
    const { data, dims } = output;
    if (!data.every(Number.isFinite)) throw new Error(`${this.#output} contains numbers that are not finite`);
    const width = dims.at(-1)!;
    if (this.#head.kind === 'sentence') {
      return batch.map(({ ids }, i) => sentence(data.subarray(i * length * width), ids.length, width));
    }
    if (width !== this.#head.labels) {
      throw new Error(`logits of ${width} labels, but config.json has ${this.#head.labels}`);
    }
    return batch.map((_, i) => data.slice(i * width, (i + 1) * width));
  }
}

/** The mean of the first rows, of length 1: mean pooling as in sentence-transformers. @param data `[rows, width]` */
function sentence(data: Float32Array, rows: number, width: number): Float32Array {
  const mean = new Float32Array(width);
  for (let i = 0; i < rows * width; i += 1) mean[i % width]! += data[i]! / rows;
  const norm = Math.hypot(...mean) || 1;
  return mean.map((value) => value / norm);
}

/** Consecutive numbers in batches: the greatest length times the count stays within a run. */
function batches(order: readonly number[], lengthOf: (i: number) => number): number[][] {
  const found: number[][] = [];
  for (const i of order) {
    const last = found.at(-1);
    const fits = last && last.length < MAX_ROWS && (last.length + 1) * lengthOf(i) <= RUN_TOKENS;
    if (fits) last.push(i);
    else found.push([i]);
  }
  return found;
}

/** @returns the name of the output to read */
function checkGraph(session: ort.InferenceSession, file: string, head: OpenEncoder['head']): string {
  for (const input of session.inputMetadata) {
    const field = `input ${input.name}`;
    if (!INPUTS.includes(input.name)) {
      throw new ModelError(file, field, `is not supported (supported: ${INPUTS.join(', ')})`);
    }
    const type = input.isTensor ? input.type : 'no tensor';
    if (type !== 'int64') throw new ModelError(file, field, `is ${type}, expected int64`);
  }
  if (!session.inputNames.includes('input_ids')) throw new ModelError(file, 'input input_ids', 'is missing');
  const names = OUTPUTS[head.kind];
  const output = session.outputMetadata.find(({ name }) => names.includes(name));
  if (!output) {
    const found = session.outputNames.join(', ');
    throw new ModelError(file, `output ${names.join(' or ')}`, `is missing (outputs: ${found})`);
  }
  const type = output.isTensor ? output.type : 'no tensor';
  if (type !== 'float32') {
    throw new ModelError(file, `output ${output.name}`, `is ${type}, expected float32`);
  }
  const width = output.isTensor ? output.shape.at(-1) : undefined;
  if (head.kind === 'logits' && typeof width === 'number' && width !== head.labels) {
    const problem = `has ${width} labels, but config.json has ${head.labels}`;
    throw new ModelError(file, 'output logits', problem);
  }
  return output.name;
}
