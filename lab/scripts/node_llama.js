/**
 * llama.cpp by node-llama-cpp, in a process of its own:
 *
 *   node node_llama.js FOLDER MODEL.gguf THREADS
 *
 * FOLDER has node-llama-cpp installed. A message `{ prompts, tokens }`, prompts as lists of ids, is answered by
 * `{ answers }`, the ids of each answer, or by `{ error }`.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, modelPath, threads] = process.argv.slice(2);
const entry = join(folder, 'node_modules/node-llama-cpp/dist/index.js');
const { getLlama } = await import(pathToFileURL(entry).href);
const llama = await getLlama({ gpu: false, build: 'never', skipDownload: true, logLevel: 'error' });
const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
/** By their number of sequences and positions of each, as memory is reserved for all of them. */
const contexts = new Map();

async function sequencesFor(count, positions) {
  const key = `${count} ${positions}`;
  if (!contexts.has(key)) {
    const context = await model.createContext({
      sequences: count,
      contextSize: positions,
      threads: { ideal: Number(threads), min: Number(threads) },
    });
    contexts.set(
      key,
      Array.from({ length: count }, () => context.getSequence()),
    );
  }
  return contexts.get(key);
}

async function answer(sequence, prompt, tokens) {
  await sequence.clearHistory();
  const ids = [];
  for await (const id of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    ids.push(id);
    if (ids.length === tokens) break;
  }
  return ids;
}

process.on('message', async ({ prompts, tokens }) => {
  try {
    const longest = Math.max(...prompts.map((prompt) => prompt.length));
    const positions = 256 * Math.ceil((longest + tokens + 1) / 256);
    const sequences = await sequencesFor(prompts.length, positions);
    const answers = await Promise.all(prompts.map((prompt, i) => answer(sequences[i], prompt, tokens)));
    process.send({ answers });
  } catch (error) {
    process.send({ error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
