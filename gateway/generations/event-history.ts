export interface HistoryLimits {
  readonly events: number;
  readonly bytes: number;
}

/**
 * The last frames of a generation, in order, by their offsets: frames that were sent can be sent again,
 * others wait here. The oldest that were sent are dropped first. Frames that were not sent are never dropped,
 * so that the writer must stop in time ({@link crowded}).
 */
export class EventHistory {
  readonly #limits: HistoryLimits;
  readonly #frames: string[] = [];
  /** Offset of the first frame that is still there, and of the next to be sent. */
  #first = 0;
  #cursor = 0;
  #bytes = 0;
  #unsentBytes = 0;

  constructor(limits: HistoryLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Offset of the oldest frame that is still there. */
  get first(): number {
    return this.#first;
  }

  /**
   * Frames from an offset on, at most `most`, or as many as there are.
   * @returns `null` if the first of them is gone
   */
  from(offset: number, most: number): readonly string[] | null {
    if (offset < this.#first) return null;
    return this.#frames.slice(offset - this.#first, offset - this.#first + most);
  }

  /** Offset of the next frame. */
  get next(): number {
    return this.#first + this.#frames.length;
  }

  get allSent(): boolean {
    return this.#cursor === this.next;
  }

  /**
   * Whether what was not sent takes half of the room. The other half keeps what was sent last, of which a connection
   * that was lost may have lost some.
   */
  get crowded(): boolean {
    const { events, bytes } = this.#limits;
    return 2 * (this.next - this.#cursor) >= events || 2 * this.#unsentBytes >= bytes;
  }

  push(frame: string): void {
    const bytes = Buffer.byteLength(frame);
    this.#frames.push(frame);
    this.#bytes += bytes;
    this.#unsentBytes += bytes;
    while (this.#frames.length > this.#limits.events || this.#bytes > this.#limits.bytes) {
      if (!this.#forgetOldest()) break;
    }
  }

  /** The next frame to be sent, which then counts as sent; `undefined` if all are. */
  take(): string | undefined {
    const frame = this.#frames[this.#cursor - this.#first];
    if (frame === undefined) return undefined;
    this.#cursor += 1;
    this.#unsentBytes -= Buffer.byteLength(frame);
    return frame;
  }

  /**
   * All from an offset on are to be sent again.
   * @returns false if some of them are gone, or there never was one there
   */
  rewind(offset: number): boolean {
    if (offset < this.#first || offset > this.next) return false;
    this.#cursor = offset;
    this.#unsentBytes = this.#frames
      .slice(offset - this.#first)
      .reduce((sum, frame) => sum + Buffer.byteLength(frame), 0);
    return true;
  }

  /** Makes room: half of it, as far as that was sent. */
  halve(): void {
    const half = this.#bytes / 2;
    while (this.#bytes > half && this.#forgetOldest());
  }

  #forgetOldest(): boolean {
    if (this.#first === this.#cursor) return false;
    const frame = this.#frames.shift();
    if (frame === undefined) return false;
    this.#first += 1;
    this.#bytes -= Buffer.byteLength(frame);
    return true;
  }
}
