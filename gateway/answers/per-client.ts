/** Maximum number of values. A running estimate takes up to some hundred kilobytes after thousands of tokens. */
const MOST = 256;

/**
 * Values that answers of one client with the same settings share: a client that writes garbage moves no flags but its
 * own. If there are too many, the client that has most of them loses the one that it has not used for longest; so a
 * client with random settings costs no other client a value.
 */
export class PerClient<Value> {
  readonly #make: () => Value;
  /** Values by client, then by settings; the least recently used first. */
  readonly #clients = new Map<string, Map<string, Value>>();
  #count = 0;

  constructor(make: () => Value) {
    this.#make = make;
  }

  of(client: string, settings: string): Value {
    const own = this.#clients.get(client) ?? new Map<string, Value>();
    const known = own.get(settings);
    const value = known ?? this.#make();
    own.delete(settings);
    own.set(settings, value);
    this.#clients.delete(client);
    this.#clients.set(client, own);
    if (known === undefined) this.#added();
    return value;
  }

  #added(): void {
    this.#count += 1;
    if (this.#count <= MOST) return;
    const [client, own] = [...this.#clients].reduce((a, b) => (b[1].size > a[1].size ? b : a));
    const [oldest = ''] = own.keys();
    own.delete(oldest);
    if (own.size === 0) this.#clients.delete(client);
    this.#count -= 1;
  }
}
