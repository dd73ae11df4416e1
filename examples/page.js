/**
 * Serves page.html from its own origin, like any other site. The gateway must allow that origin:
 *
 *   FLINCH_ACCESS_ORIGINS=http://127.0.0.1:8080 npm start
 *   node examples/page.js [URL] [PORT]
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fail, gatewayUrl } from './shared.js';

const [url, port = '8080'] = process.argv.slice(2);
const file = await readFile(new URL('./page.html', import.meta.url), 'utf8');
const html = file.replaceAll('http://127.0.0.1:8787', gatewayUrl(url));

const server = createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/html; charset=utf-8').end(html);
});
server.on('error', fail); // the port is in use
server.listen(Number(port), '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${port}`;
  console.log(`The page is at ${origin}, for a gateway with FLINCH_ACCESS_ORIGINS=${origin}`);
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close());
