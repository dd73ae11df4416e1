import type { Readable } from 'node:stream';
import { UsageError } from '../../src/files/file-errors.js';

const NEWLINE = 0x0a;

/**
 * Lines of bytes. A newline alone ends a line, as in JSON Lines: Node's `readline` also splits at U+2028, which may
 * stand in a string of JSON.
 */
export async function* linesOf(input: Readable): AsyncGenerator<Uint8Array> {
  let parts: Buffer[] = [];
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...parts, bytes.subarray(start, end)]);
      parts = [];
      start = end + 1;
    }
    if (start < bytes.length) parts.push(bytes.subarray(start));
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}

/**
 * Text of a line, without a byte order mark.
 * @throws UsageError for bytes that are not UTF-8
 */
export function textOf(line: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(line);
  } catch {
    throw new UsageError('is not UTF-8');
  }
}
