import { EngineError, type EngineErrorCode } from '../../src/engine/engine-errors.js';

/** A method that the other process calls. Like all methods, its parameters are checked bivariantly. */
type Method = { of(...args: unknown[]): unknown }['of'];

/** Methods of one side; arguments and results are copied (structured clones). */
export type Methods<Side> = { readonly [Name in keyof Side]: Method };

interface Failure {
  readonly message: string;
  /** Stack of unexpected errors: for our own kinds the message says it all. */
  readonly stack: string | undefined;
  /** Code of an EngineError. */
  readonly engine: EngineErrorCode | undefined;
  /** Fields of a system error, such as a port in use. */
  readonly system: Readonly<Record<string, unknown>>;
}

/** Messages of the channel. */
export type Message =
  | { readonly call: string; readonly id: number | null; readonly args: unknown[] }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: Failure };

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Calls between two processes, both ways, in the order in which they were made. */
export class Channel<Other extends Methods<Other>> {
  readonly #post: (message: Message) => void;
  readonly #own: Readonly<Record<string, Method>>;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;
  #closed: Error | null = null;

  /** @param own methods that the other side may call */
  constructor(post: (message: Message) => void, own: Readonly<Record<string, Method>>) {
    this.#post = post;
    this.#own = own;
  }

  /** @throws errors of the method; Error once the channel is closed */
  call<Name extends keyof Other & string>(
    name: Name,
    ...args: Parameters<Other[Name]>
  ): Promise<Awaited<ReturnType<Other[Name]>>> {
    this.#calls += 1;
    const id = this.#calls;
    if (this.#closed) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#post({ call: name, id, args });
    });
  }

  /** The same without an answer. */
  tell<Name extends keyof Other & string>(name: Name, ...args: Parameters<Other[Name]>): void {
    this.#post({ call: name, id: null, args });
  }

  /** A message of the other side. */
  receive(message: Message): void {
    if ('call' in message) {
      void this.#run(message.call, message.args, message.id);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('failure' in message) waiting?.reject(errorOf(message.failure));
    else waiting?.resolve(message.result);
  }

  /** The other side is gone: nothing is answered any more. */
  close(reason: Error): void {
    this.#closed = reason;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(reason);
  }

  async #run(name: string, args: unknown[], id: number | null): Promise<void> {
    try {
      const result = this.#own[name]?.(...args);
      if (id !== null) this.#post({ id, result: result instanceof Promise ? await result : result });
    } catch (error) {
      if (id === null) throw error;
      this.#post({ id, failure: failureOf(error) });
    }
  }
}

const SYSTEM_FIELDS = ['code', 'syscall', 'address', 'port'];

function failureOf(error: unknown): Failure {
  const { message, stack, constructor: kind } = error instanceof Error ? error : new Error(String(error));
  const fields = Object.entries(error ?? {}).filter(([field]) => SYSTEM_FIELDS.includes(field));
  return {
    message,
    stack: kind.name in globalThis ? stack : undefined,
    engine: error instanceof EngineError ? error.code : undefined,
    system: Object.fromEntries(fields),
  };
}

function errorOf({ message, stack = message, engine, system }: Failure): Error {
  if (engine) return new EngineError(engine, message);
  return Object.assign(new Error(message), system, { stack });
}
