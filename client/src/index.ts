import { type BrowserSocketOptions, browserSocket } from './browser-socket.js';
import { StreamClient, type StreamOptions } from './stream-client.js';

export * from './exports.js';

export interface ClientOptions extends BrowserSocketOptions, StreamOptions {}

/**
 * A client of `flinch.v1` for browsers: generations as Observables over one WebSocket, which comes back when it is lost.
 * It connects with the first generation, or by `connect()`, and stays connected until `close()`.
 *
 * @example
 * const client = new FlinchClient({ url: location.href });
 * client.state.subscribe(({ status }) => console.log(status));
 * const messages = [{ role: 'user', content: 'What is 12 + 30 - 5?' }] as const;
 * client.generate({ model: 'reasoner', messages, guard: { action: 'rollback' } }).subscribe(console.log);
 */
export class FlinchClient extends StreamClient {
  constructor(options: ClientOptions) {
    super(browserSocket(options), options);
  }
}
