import type { ChatMessage } from 'flinch';
import type { ResponseRecord } from '../../records/records.js';

/** Question to a writer. */
export interface Question {
  readonly id: string;
  /** 0 for the response that is evaluated, else the number of the further one. */
  readonly sample: number;
  readonly messages: readonly ChatMessage[];
  /** The same by the template of the model that scores. */
  readonly promptIds: readonly number[];
  readonly temperature: number;
  readonly topP: number;
  /** Limit of tokens, at most as many as the context has room for. */
  readonly maxTokens: number;
  readonly seed: number;
  /** Strings that end a response, beside the model's end tokens. */
  readonly stop: readonly string[];
}

/** A response in the tokens of the model that scores, without the end token. */
export type Written = Pick<ResponseRecord, 'tokenIds' | 'tokenTexts' | 'logprobs'> & {
  readonly finish: 'stop' | 'length';
};

/** Writes the responses of a run. */
export interface Writer {
  readonly kind: 'engine' | 'upstream';
  write(question: Question, signal: AbortSignal): Promise<Written>;
  close(): void;
}
