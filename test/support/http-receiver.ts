import { createServer, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';

/** A server of plain HTTP, until the test is over. */
export async function httpReceiver(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port is free');
  return `http://127.0.0.1:${address.port}`;
}
