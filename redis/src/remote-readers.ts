import { isDeepStrictEqual } from 'node:util';
import type { LiveGenerations, Reader } from 'flinch/state';
import type { Message, MessageOf, ReaderName } from './gateway-messages.js';

export interface RemoteReadersOptions {
  readonly live: LiveGenerations;
  /** How long a reader is waited for that says nothing. */
  readonly patienceMs: number;
  readonly tell: (gateway: string, message: Message) => void;
}

interface RemoteReader extends Reader {
  readonly name: ReaderName;
}

/** Other gateways' readers of generations of this gateway. */
export class RemoteReaders {
  readonly #options: RemoteReadersOptions;
  /** Readers by id of the generation. */
  readonly #readers = new Map<string, RemoteReader>();

  constructor(options: RemoteReadersOptions) {
    this.#options = options;
  }

  /** One of them has sent the frames before an offset; the first time it takes the generation over. */
  read(message: MessageOf<'read'>): void {
    const { gateway, number } = message.reader;
    const code = this.#refusalOf(message);
    if (code !== null) this.#options.tell(gateway, { type: 'lost', number, code });
  }

  act({ id, reader: name, action }: MessageOf<'act'>): void {
    const reader = this.#readers.get(id);
    if (!reader || !isDeepStrictEqual(reader.name, name)) return;
    const generation = this.#options.live.own(id);
    if (action === 'cancel') {
      generation?.cancel();
      return;
    }
    this.#readers.delete(id);
    generation?.leftElsewhere(reader);
    if (action === 'discard') generation?.discard();
  }

  #refusalOf({
    id,
    owner,
    reader: name,
    offset,
    first,
  }: MessageOf<'read'>): MessageOf<'lost'>['code'] | null {
    const { live, patienceMs } = this.#options;
    const generation = live.own(id);
    if (generation?.owner !== owner) return 'not_recovered';
    const known = this.#readers.get(id);
    const same = known !== undefined && isDeepStrictEqual(known.name, name);
    if (!first && !same) return 'taken_over';
    const lost = (): void => this.#takenFrom(id, name);
    const reader = same ? known : { name, patienceMs, lost };
    if (!generation.sentElsewhere(reader, offset)) return 'not_recovered';
    this.#readers.set(id, reader);
    return null;
  }

  #takenFrom(id: string, name: ReaderName): void {
    this.#readers.delete(id);
    this.#options.tell(name.gateway, { type: 'lost', number: name.number, code: 'taken_over' });
  }
}
