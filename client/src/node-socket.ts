import { Readable } from 'node:stream';
import { WebSocket } from 'ws';
import { SUBPROTOCOL } from './protocol-events.js';
import { readText } from './read-text.js';
import { SILENT_CONNECTION } from './reconnect-codes.js';
import type { OpenSocket } from './socket.js';
import { errorOf, httpError, MOST_BYTES } from './ticket.js';
import { streamUrl } from './urls.js';

export interface NodeSocketOptions {
  /** Address of the gateway, such as `http://127.0.0.1:8787`. */
  readonly url: string | URL;
  readonly apiKey?: string | undefined;
}

/**
 * Sockets of package `ws`: with the key in the handshake, and with the reason where that is refused.
 * @throws TypeError for an address that is none
 */
export function nodeSocket({ url, apiKey }: NodeSocketOptions): OpenSocket {
  const target = streamUrl(url);
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  return (handlers) => {
    const socket = new WebSocket(target, SUBPROTOCOL, { headers });
    let problem = '';
    let refused = false;
    socket.on('open', () => handlers.open());
    socket.on('message', (data, isBinary) => handlers.message(isBinary ? null : data.toString()));
    socket.on('error', (error) => {
      problem = error.message;
    });
    socket.on('unexpected-response', async (request, response) => {
      refused = true;
      const body = await readText(Readable.toWeb(response), MOST_BYTES).catch(() => '');
      request.destroy();
      const error = httpError(response.statusCode ?? 0, body);
      const refusal = errorOf(error);
      handlers.close({ code: 1006, reason: error.message, ...(refusal && { refusal }) });
    });
    socket.on('close', (code, reason) => {
      if (!refused) handlers.close({ code, reason: reason.toString() || problem });
    });
    return {
      send: (message) => socket.send(message),
      // A peer that is silent does not answer a goodbye either.
      close: (code, reason) => (code === SILENT_CONNECTION ? socket.terminate() : socket.close(code, reason)),
    };
  };
}
