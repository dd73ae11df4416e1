import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { originOf } from './http-receiver.js';

/** How a connection is lost. `silence`: nothing comes through any more, and neither side is told. */
export type Loss = 'reset' | 'end' | 'silence';

export interface Cut {
  /** Bytes from the server to the client, until the cut. */
  readonly afterBytes: number;
  readonly loss: Loss;
}

const NEVER = (): Cut => ({ afterBytes: Number.POSITIVE_INFINITY, loss: 'reset' });

/**
 * Passes bytes on to a port, and loses connections as it is told.
 * @param plan asked for each connection, in whose midst a cut is due, until there were `most` of them
 */
export async function cuttingProxy(
  port: number,
  { most, plan }: { readonly most: number; readonly plan: () => Cut } = { most: 0, plan: NEVER },
) {
  const lose = new Set<(loss: Loss) => void>();
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const gateway = connect(port, '127.0.0.1');
    const cut = plan();
    let left = cut.afterBytes;
    let silent = false;
    const end = (loss: Loss): void => {
      if (silent) return;
      silent = true;
      cuts += 1;
      for (const socket of [client, gateway]) {
        if (loss === 'reset') socket.resetAndDestroy();
        if (loss === 'end') socket.end();
      }
    };
    lose.add(end);
    for (const [from, to] of [
      [client, gateway],
      [gateway, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {}); // a reset; `close` follows
      from.on('close', () => {
        sockets.delete(from);
        if (!silent) to.destroy();
      });
    }
    client.on('data', (data) => {
      if (!silent) gateway.write(data);
    });
    gateway.on('data', (data) => {
      if (silent) return;
      client.write(cuts < most ? data.subarray(0, left) : data);
      left -= data.length;
      if (left <= 0 && cuts < most) end(cut.loss);
    });
  });
  const url = await originOf(server);
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url,
    get cuts(): number {
      return cuts;
    },
    /** Loses all connections that there are. */
    lose(loss: Loss): void {
      for (const end of lose) end(loss);
    },
  };
}
