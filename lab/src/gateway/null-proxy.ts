import { Agent, createServer, request } from 'node:http';
import { pipeline } from 'node:stream';

/** The least that a proxy can do, as a process of its own: it pipes bytes both ways and looks at none of them. */

const upstream = new URL(process.argv[2] ?? '');
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

const server = createServer((req, res) => {
  const { method, url: path, headers } = req;
  const { hostname, port } = upstream;
  const forwarded = request({
    agent,
    hostname,
    port,
    method,
    path,
    headers: { ...headers, host: upstream.host },
  });
  forwarded.once('response', (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    pipeline(answer, res, () => {}); // a client that left
  });
  forwarded.once('error', () => res.destroy());
  pipeline(req, forwarded, () => {});
});

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : null });
});
process.once('disconnect', () => process.exit());
