import type { BenchProblem } from '../suites/suite.js';

/** Beginning of a response: some of its steps, or none. */
export interface Beginning {
  readonly text: string;
  /** The same in the tokens of `--model`; without them, its tokenizer makes them of the text. */
  readonly tokenIds?: readonly number[];
  /** Limit of what follows. */
  readonly maxTokens: number;
}

export interface CompletionRequest {
  readonly problem: BenchProblem;
  readonly beginning: Beginning;
  readonly temperature: number;
  readonly topP: number;
  /** Of 31 bits, which all servers take. */
  readonly seed: number;
}

export interface Completed {
  /** What follows the beginning. */
  readonly text: string;
  readonly tokens: number;
  readonly finish: 'stop' | 'length';
}

/** Goes on with responses that have begun. */
export interface Completer {
  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completed>;
  close(): void;
}
