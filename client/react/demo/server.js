/**
 * A chat with useChat: this server asks a flinch gateway through the AI SDK, and the page shows flags and verdicts.
 *
 *   node client/react/demo/server.js [URL of the gateway] [PORT]
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  convertToModelMessages,
  createUIMessageStream,
  pipeUIMessageStreamToResponse,
  streamText,
  wrapLanguageModel,
} from 'ai';
import { build } from 'esbuild';
import { flinchMiddleware } from 'flinch-ai-sdk';

const [gateway = 'http://127.0.0.1:8787', port = '8080'] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: 'flinch', baseURL: `${gateway}/v1` });

/** @param {import('ai').UIMessage[]} messages */
async function answer(messages) {
  const prompt = await convertToModelMessages(messages);
  return createUIMessageStream({
    execute: ({ writer }) => {
      const middleware = flinchMiddleware({
        guard: { action: 'rollback', rate: 0.05 },
        onData: (part) => writer.write(part),
      });
      const model = wrapLanguageModel({ model: provider('reasoner'), middleware });
      const result = streamText({ model, messages: prompt, temperature: 1, seed: 1 });
      writer.merge(result.toUIMessageStream());
    },
    onError: (error) => (error instanceof Error ? error.message : 'failed'),
  });
}

const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));
const { outputFiles } = await build({
  entryPoints: [here('main.tsx')],
  ...{ bundle: true, minify: true, write: false, format: 'esm', target: 'es2023', outdir: '/' },
});
const files = new Map(outputFiles.map(({ path, contents }) => [`/${basename(path)}`, contents]));
files.set('/', await readFile(here('index.html')));
/** @type {Record<string, string>} */
const TYPES = { '/': 'text/html', '/main.js': 'text/javascript', '/main.css': 'text/css' };

const server = createServer(async (request, response) => {
  const path = request.url ?? '';
  if (request.method === 'POST' && path === '/api/chat') {
    const { messages } = JSON.parse(await text(request));
    pipeUIMessageStreamToResponse({ response, stream: await answer(messages) });
    return;
  }
  const file = files.get(path);
  response.writeHead(file ? 200 : 404, { 'content-type': TYPES[path] ?? 'text/plain' }).end(file);
});
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address();
  const own = typeof address === 'object' && address ? address.port : port;
  console.log(`The chat is at http://127.0.0.1:${own}, its gateway at ${gateway}`);
});
