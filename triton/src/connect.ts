import type { ServerConnection } from './connection.js';

/** The library of a protocol is loaded when it is needed. */
export async function connect(url: string, requestMs: number): Promise<ServerConnection> {
  if (url.startsWith('grpc')) {
    const { GrpcConnection } = await import('./grpc-connection.js');
    return new GrpcConnection(url, requestMs);
  }
  const { HttpConnection } = await import('./http-connection.js');
  return new HttpConnection(url, requestMs);
}
