import type { UpstreamToken } from '../upstream.js';

/**
 * The texts of tokens whose bytes are known: of a character of several tokens the last one has it, the others
 * ''.
 */
export class TokenTexts {
  #decoder = new TextDecoder();
  /** Bytes of a character that has begun. */
  #partial = 0;

  /** The token with the text that it adds to those before it. */
  next(token: UpstreamToken): UpstreamToken {
    const { text, name, bytes } = token;
    // Some servers tell the bytes of the name.
    if (!bytes || name !== undefined) return token;
    const whole = !text.includes('\uFFFD') && Buffer.byteLength(text) === bytes.length;
    if (whole && this.#partial === 0) return token;
    const decoded = this.#decoder.decode(Uint8Array.from(bytes), { stream: true });
    this.#partial += bytes.length - Buffer.byteLength(decoded);
    return { ...token, text: decoded };
  }

  /** Forgets a character that has begun: the next token does not continue it. */
  reset(): void {
    if (this.#partial !== 0) this.#decoder = new TextDecoder();
    this.#partial = 0;
  }
}
