/** What is fed with inputs that were changed by chance. Its corpus is `test/fuzz/corpus/NAME`. */
export interface Target {
  readonly name: string;
  /** Milliseconds of processor time that an input may take; by default 2000. */
  readonly mostMs?: number;
  /** Throws for a finding: whatever is no refusal that names its field. */
  readonly run: (input: Uint8Array) => void | Promise<void>;
}

/** The same bytes in parts of all sizes up to `most`. */
export function* parts(bytes: Uint8Array, most: number): Generator<Uint8Array> {
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size % most) + 1)
    yield bytes.subarray(at, at + size);
}
