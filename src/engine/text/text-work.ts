import { TextLimitError } from '../../files/file-errors.js';
import type { EncodedPrompt, PromptLimits, PromptModel } from '../../tokenizer/prompt.js';
import { EngineError } from '../engine-errors.js';
import type { TextModel } from './text-messages.js';
import { encodeTask, type TextTask } from './text-messages.js';
import { TextProcess } from './text-process.js';

/** Texts up to this many characters are encoded in the calling process: they take a fraction of 100 ms. */
const SHORT = 4096;
const SHORT_LIMITS: PromptLimits = { renderMs: 50, characters: SHORT };

const MAX_PROCESSES = 2;
/** Tasks that may wait for a process. */
const MAX_WAITING = 64;
/** A process without work keeps its memory so long. */
const IDLE_MS = 60_000;

/** Time for a task, and for each of its characters ten times what the slowest texts take. */
const TASK_MS = 5000;
const CHARACTER_MS = 0.1;

type Process = Pick<TextProcess, 'dead' | 'run' | 'close'>;

export interface TextWorkOptions {
  readonly openProcess?: (model: TextModel) => Process;
  readonly taskMs?: number;
}

/**
 * Makes token ids of what requests hold. Short texts are encoded here if the tokenizer is known to take linear time; all
 * else in processes, which are ended when a text or a hostile model takes too long. They start on first use.
 */
export class TextWork {
  readonly #model: PromptModel;
  readonly #files: TextModel;
  readonly #openProcess: (model: TextModel) => Process;
  readonly #taskMs: number;
  readonly #idle = new Map<Process, NodeJS.Timeout>();
  readonly #busy = new Set<Process>();
  readonly #waiting: (() => void)[] = [];
  #closed = false;

  constructor(
    model: PromptModel,
    files: TextModel,
    { openProcess = (model) => new TextProcess(model), taskMs = TASK_MS }: TextWorkOptions = {},
  ) {
    this.#model = model;
    this.#files = files;
    this.#openProcess = openProcess;
    this.#taskMs = taskMs;
  }

  /**
   * @throws TextLimitError where it takes too much time or memory; EngineError `overloaded`, `closed`; TemplateError and
   *   ModelError as `encodePrompt`
   */
  async encode(task: TextTask): Promise<EncodedPrompt> {
    const size = sizeOf(task);
    if (size <= SHORT && this.#model.tokenizer.units !== null) {
      try {
        return encodeTask(this.#model, task, SHORT_LIMITS);
      } catch (error) {
        if (!(error instanceof TextLimitError)) throw error;
      }
    }
    const child = await this.#take();
    try {
      return await child.run(task, this.#taskMs + CHARACTER_MS * size);
    } finally {
      this.#giveBack(child);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#idle.values()) clearTimeout(timer);
    const children = [...this.#idle.keys(), ...this.#busy];
    this.#idle.clear();
    for (const next of this.#waiting.splice(0)) next();
    await Promise.all(children.map((child) => child.close()));
  }

  async #take(): Promise<Process> {
    while (!this.#closed && this.#idle.size === 0 && this.#busy.size >= MAX_PROCESSES) {
      if (this.#waiting.length >= MAX_WAITING) {
        throw new EngineError('overloaded', `${MAX_WAITING} texts are already waiting to be encoded`);
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) throw new EngineError('closed', 'the engine is closed');
    const [kept] = this.#idle.keys();
    const child = kept ?? this.#openProcess(this.#files);
    clearTimeout(this.#idle.get(child));
    this.#idle.delete(child);
    this.#busy.add(child);
    return child;
  }

  #giveBack(child: Process): void {
    this.#busy.delete(child);
    if (!child.dead && !this.#closed) {
      const leave = (): void => {
        this.#idle.delete(child);
        void child.close();
      };
      this.#idle.set(child, setTimeout(leave, IDLE_MS).unref());
    }
    this.#waiting.shift()?.();
  }
}

/** Size in characters, as JSON: each message and each field counts. */
function sizeOf(task: TextTask): number {
  return 'text' in task ? task.text.length : JSON.stringify([task.messages, task.variables]).length;
}
