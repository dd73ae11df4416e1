import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EngineError } from 'flinch';
import { candidates, EngineProcess, Inbox } from 'flinch/internals';
import { type EncoderFolder, type EncoderUse, readEncoderFolder } from './encoder-folder.js';
import type { EncoderInput, FromEncoder, OpenEncoder, ToEncoder } from './encoder-messages.js';

const ENTRY = fileURLToPath(new URL(`./child/main${extname(import.meta.url)}`, import.meta.url));

/** Inputs of one message: an answer comes after each, so that a lost process costs no more than that. */
const CHUNK = 512;

export interface EncoderOptions {
  readonly threads?: number;
}

/**
 * An ONNX model of language in a process of its own: inference blocks the thread that it runs on, and Ctrl-C and progress
 * are the parent's. The process starts on first use, and again after a crash.
 */
export class Encoder {
  readonly folder: EncoderFolder;
  readonly #process: EngineProcess<ToEncoder, FromEncoder>;

  private constructor(folder: EncoderFolder, process: EngineProcess<ToEncoder, FromEncoder>) {
    this.folder = folder;
    this.#process = process;
  }

  /** @throws ModelError that names file and field; what is wrong with the tokenizer or the graph comes with `start` */
  static async open(dir: string, use: EncoderUse, options: EncoderOptions = {}): Promise<Encoder> {
    const { threads = 1 } = options;
    const folder = await readEncoderFolder(dir, use);
    const { file, maxTokens, head } = folder;
    const opening: Omit<OpenEncoder, 'device'> = {
      type: 'open',
      role: use,
      threads,
      file,
      folder: folder.folder,
      maxTokens,
      head,
    };
    return new Encoder(folder, new EngineProcess(opening, candidates('cpu'), { entry: ENTRY }));
  }

  /** @throws EngineError `unavailable`, which names the file and what is wrong with it */
  async start(): Promise<void> {
    await this.#process.ready();
  }

  /**
   * A row for each input: logits, or the vector of a sentence.
   * @throws EngineError `unavailable`, `crashed`, `failed`, `closed`
   */
  async encode(inputs: readonly EncoderInput[]): Promise<Float32Array[]> {
    const rows: Float32Array[] = [];
    for (let from = 0; from < inputs.length; from += CHUNK) {
      const part = inputs.slice(from, from + CHUNK);
      const answer = await this.#ask(part);
      if (answer.type !== 'encoded') {
        const reason = answer.type === 'failed' ? answer.message : answer.type;
        throw new EngineError('failed', `${this.folder.name}: ${reason}`);
      }
      const { width } = answer;
      for (const i of part.keys()) rows.push(answer.rows.subarray(i * width, (i + 1) * width));
    }
    return rows;
  }

  /** Process id while it runs. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  close(): Promise<void> {
    return this.#process.close();
  }

  async #ask(inputs: readonly EncoderInput[]): Promise<FromEncoder> {
    const inbox = new Inbox<FromEncoder>();
    const handle = await this.#process.attach({
      receive: (message) => inbox.put(message),
      waits: () => inbox.awaited,
      fail: (error) => inbox.fail(error),
    });
    try {
      handle.send({ type: 'encode', stream: handle.stream, inputs });
      return await inbox.take();
    } finally {
      handle.detach();
    }
  }
}
