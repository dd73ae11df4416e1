import type { Device } from 'flinch';

/** Messages between the parent and an encoder process. */

export interface OpenEncoder {
  readonly type: 'open';
  /** Purpose of the model, for messages. */
  readonly role: string;
  readonly device: Device;
  readonly threads: number;
  /** The ONNX file, links resolved: onnxruntime looks for external data beside it. */
  readonly file: string;
  /** The folder of its tokenizer. */
  readonly folder: string;
  /** Tokens of one input, special ones included; what is longer is cut. */
  readonly maxTokens: number;
  /**
   * - `logits`: of a classifier, one number for each of so many labels
   * - `sentence`: the mean of the last layer's rows, padding left out, of length 1
   */
  readonly head: { readonly kind: 'logits'; readonly labels: number } | { readonly kind: 'sentence' };
}

/** A text, or two that are read as a pair. */
export type EncoderInput = readonly [string] | readonly [string, string];

export type ToEncoder =
  | OpenEncoder
  | { readonly type: 'encode'; readonly stream: number; readonly inputs: readonly EncoderInput[] };

export type FromEncoder =
  | { readonly type: 'ready'; readonly device: Device }
  | { readonly type: 'unavailable'; readonly message: string }
  /** A row for each input, `[inputs, width]`. */
  | { readonly type: 'encoded'; readonly stream: number; readonly rows: Float32Array; readonly width: number }
  | { readonly type: 'failed'; readonly stream: number; readonly message: string };
