import { createServer } from 'node:net';

/** For what cannot say which port it was given for 0. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (typeof address !== 'object' || !address) throw new Error('no port is free');
  return address.port;
}
