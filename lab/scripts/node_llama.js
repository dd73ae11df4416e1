/**
 * llama.cpp by node-llama-cpp, in a process of its own:
 *
 *   node node_llama.js FOLDER MODEL.gguf THREADS
 *
 * FOLDER has node-llama-cpp installed. A message `{ prompts, tokens, positions }`, prompts as lists of ids, is answered
 * by `{ answers }`, for each the `ids`, when each came (`tokens`) and when all were there (`end`), in milliseconds since
 * the message, or by `{ error }`. `positions` is what the longest prompt and its answer may take.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, modelPath, threads] = process.argv.slice(2);
const entry = join(folder, 'node_modules/node-llama-cpp/dist/index.js');
const { getLlama } = await import(pathToFileURL(entry).href);
const llama = await getLlama({
  ...{ gpu: false, build: 'never', skipDownload: true, logLevel: 'error' },
  maxThreads: Number(threads),
});
const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
/** Reserves memory for all its positions, so that there is one at a time. */
let context = null;
let sequences = [];
let shape = '';

async function sequencesFor(count, contextSize) {
  const wanted = `${count} ${contextSize}`;
  if (shape !== wanted) {
    await context?.dispose();
    context = await model.createContext({
      sequences: count,
      contextSize,
      threads: { ideal: Number(threads), min: Number(threads) },
    });
    sequences = Array.from({ length: count }, () => context.getSequence());
    shape = wanted;
  }
  return sequences;
}

async function answer(sequence, prompt, count, start) {
  await sequence.clearHistory();
  const ids = [];
  const tokens = [];
  for await (const id of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    ids.push(id);
    tokens.push(performance.now() - start);
    if (ids.length === count) break;
  }
  return { ids, tokens, end: tokens.at(-1) };
}

process.on('message', async ({ prompts, tokens, positions }) => {
  try {
    const start = performance.now();
    const all = await sequencesFor(prompts.length, 256 * Math.ceil((positions + 1) / 256));
    const answers = await Promise.all(prompts.map((prompt, i) => answer(all[i], prompt, tokens, start)));
    process.send({ answers });
  } catch (error) {
    process.send({ error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
