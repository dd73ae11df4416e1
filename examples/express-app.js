/**
 * An Express application of its own, which has the gateway at /ai: its API, its WebSocket and its page.
 *
 *   node examples/express-app.js [PORT]
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { Engine } from 'flinch';
import { createGateway, EngineModel, Models } from 'flinch/gateway';
import { fail } from './shared.js';

const port = Number(process.argv[2] ?? 3000);

const engine = await Engine.open(fileURLToPath(new URL('../models/reasoner', import.meta.url)));
await engine.start();
const gateway = createGateway({
  models: new Models([await EngineModel.open('reasoner', engine)]),
  // Only this machine reaches the application, see below; otherwise it needs `access.keys`.
  config: { access: { allow_anonymous: true } },
});

const app = express();
app.use('/ai', gateway.app); // before whatever reads bodies
app.use(express.json());
app.get('/', (_req, res) => {
  res.send('<h1>Our own page</h1><p><a href="/ai/">Ask the model</a></p>');
});

const server = createServer(app);
gateway.attach(server, '/ai');
server.maxHeadersCount = 0; // else Node drops what comes after the 2000th, and `Origin` with it
server.keepAliveTimeout = 75_000; // longer than proxies hold unused connections
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, shutDown);

try {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`;
  console.log(`Our own page is at ${origin}, the gateway at ${origin}/ai`);
} catch (error) {
  fail(error); // the port is in use, or none
  await shutDown();
}

async function shutDown() {
  await gateway.drain(); // what is under way may finish
  await gateway.close();
  server.close();
  server.closeIdleConnections();
  // Of a connection that was opened and never used, as browsers keep some, Node waits for the first request.
  setTimeout(() => server.closeAllConnections(), 2000).unref();
  await engine.close();
}
