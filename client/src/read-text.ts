/** A stream of bytes as `fetch` has it, in browsers and in Node. */
export interface ByteStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
}

/**
 * Reads a whole body as text, up to a limit: the sender decides how long it is.
 *
 * @param stream `null` for a response without a body
 * @param mostBytes after which the sender is hung up on
 * @throws RangeError for a longer body; errors of the stream
 */
export async function readText(stream: ByteStream | null, mostBytes: number): Promise<string> {
  if (stream === null) return '';
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value?.length ?? 0;
    if (bytes > mostBytes) {
      // The end is not waited for: there may be none.
      reader.cancel().catch(() => {});
      throw new RangeError(`the body has more than ${mostBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
