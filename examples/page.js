/**
 * Serves page.html from an origin of its own, as any other site would. The gateway must let that in:
 *
 *   FLINCH_ACCESS_ORIGINS=http://127.0.0.1:8080 npm start
 *   node examples/page.js [URL] [PORT]
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const [url = process.env.FLINCH_URL ?? 'http://127.0.0.1:8787', port = '8080'] = process.argv.slice(2);
const file = await readFile(new URL('./page.html', import.meta.url), 'utf8');
const html = file.replaceAll('http://127.0.0.1:8787', url.replace(/\/$/, ''));

const server = createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/html; charset=utf-8').end(html);
});
server.listen(Number(port), '127.0.0.1', () => console.log(`The page is at http://127.0.0.1:${port}`));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close());
