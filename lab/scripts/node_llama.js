/**
 * llama.cpp by node-llama-cpp, in a process of its own:
 *
 *   node node_llama.js FOLDER MODEL.gguf THREADS
 *
 * FOLDER has node-llama-cpp installed. A message `{ prompt, tokens }`, a list of ids and the length of the answer, is
 * answered by `{ ids, tokens, end }`: the ids, when each came and when all were there, in milliseconds since the message;
 * or by `{ error }`.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, modelPath, threads] = process.argv.slice(2);
const entry = join(folder, 'node_modules/node-llama-cpp/dist/index.js');
const { getLlama } = await import(pathToFileURL(entry).href);
const llama = await getLlama({
  gpu: false,
  build: 'never',
  skipDownload: true,
  logLevel: 'error',
  maxThreads: Number(threads),
});
const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
const context = await model.createContext({
  sequences: 1,
  contextSize: 512,
  threads: { ideal: Number(threads), min: Number(threads) },
});
const sequence = context.getSequence();

process.on('message', async ({ prompt, tokens: count }) => {
  try {
    const start = performance.now();
    await sequence.clearHistory();
    const ids = [];
    const tokens = [];
    for await (const id of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
      ids.push(id);
      tokens.push(performance.now() - start);
      if (ids.length === count) break;
    }
    process.send({ ids, tokens, end: tokens.at(-1) });
  } catch (error) {
    process.send({ error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
