import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TextLimitError } from '../../files/file-errors.js';
import type { EncodedPrompt } from '../../tokenizer/prompt.js';
import { childEnvironment } from '../child-environment.js';
import { type ChildEnd, ChildLink } from '../child-link.js';
import { EngineError } from '../engine-errors.js';
import type { TextTask } from './text-messages.js';
import { type FromText, fromFailure, type TextModel } from './text-messages.js';

const ENTRY = fileURLToPath(new URL(`./main${extname(import.meta.url)}`, import.meta.url));

/** Opening a model takes a second for each 100 MB of its tokenizer. */
const START_MS = 60_000;

/**
 * A process that encodes one text at a time. Not a thread: one whose heap is full may end the whole process.
 */
export class TextProcess {
  readonly #link: ChildLink<FromText>;
  readonly #opened: Promise<FromText>;
  #resolve: (message: FromText) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #dead = false;

  constructor(model: TextModel) {
    this.#opened = this.#answer(START_MS);
    this.#opened.catch(() => {}); // told to the first task
    this.#link = new ChildLink<FromText>({
      entry: ENTRY,
      env: childEnvironment(process.env),
      stallMs: undefined,
      receive: (message) => this.#resolve(message),
      ended: (end) => this.#end(errorOf(end)),
    });
    this.#link.send(model);
  }

  /** Whether it has ended, or cannot be used. */
  get dead(): boolean {
    return this.#dead;
  }

  /**
   * @param limitMs after which the process is ended
   * @throws TextLimitError where the task takes too much time or memory; EngineError `unavailable`, `closed`; what the task
   *   throws
   */
  async run(task: TextTask, limitMs: number): Promise<EncodedPrompt> {
    const opened = await this.#opened;
    if (opened.type === 'failed') {
      void this.close();
      throw fromFailure(opened.failure);
    }
    this.#link.send(task);
    const said = await this.#answer(limitMs);
    if (said.type === 'done') return said.prompt;
    throw said.type === 'failed' ? fromFailure(said.failure) : new Error('unexpected message of a process');
  }

  async close(): Promise<void> {
    this.#end(new EngineError('closed', 'the engine is closed'));
    await this.#link.close();
  }

  /** The next message. */
  async #answer(limitMs: number): Promise<FromText> {
    if (this.#dead) throw new EngineError('closed', 'the engine is closed');
    const message = new Promise<FromText>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const overrun = (): void => {
      this.#end(new TextLimitError(`encoding takes more than ${Math.ceil(limitMs / 1000)} s`));
      void this.#link.close();
    };
    const timer = setTimeout(overrun, limitMs);
    try {
      return await message;
    } finally {
      clearTimeout(timer);
    }
  }

  #end(error: Error): void {
    this.#dead = true;
    this.#reject(error);
  }
}

/** V8 aborts where its heap is full. */
const errorOf = ({ reason }: ChildEnd): Error =>
  reason === 'SIGABRT'
    ? new TextLimitError('encoding takes too much memory')
    : new EngineError('unavailable', `the process that encodes texts has ended (${reason})`);
