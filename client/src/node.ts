import { type NodeSocketOptions, nodeSocket } from './node-socket.js';
import { StreamClient, type StreamOptions } from './stream-client.js';

export * from './exports.js';

export interface ClientOptions extends NodeSocketOptions, StreamOptions {}

/**
 * The client of `flinch.v1` for Node, where a key can be sent with the handshake; else as in browsers. An open client
 * keeps the process running: `close()` it.
 *
 * @example
 * const client = new FlinchClient({ url: 'http://127.0.0.1:8787', apiKey: process.env.FLINCH_API_KEY });
 * const messages = [{ role: 'user', content: 'What is 12 + 30 - 5?' }] as const;
 * const answer = await lastValueFrom(client.generate({ model: 'reasoner', messages }).pipe(answerOf()));
 * client.close();
 */
export class FlinchClient extends StreamClient {
  constructor(options: ClientOptions) {
    super(nodeSocket(options), options);
  }
}
