import { existsSync } from 'node:fs';
import { copyFile, link, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { fingerprint } from '../../checkpoint/fingerprint.js';
import { UsageError } from '../../files/file-errors.js';
import { serialize } from '../../onnx/serialize.js';
import type { FinishedGraph } from '../../onnx/weights-as-inputs.js';
import { Sessions } from '../child/graph-sessions.js';
import { scoreText } from './check-scores.js';
import { modelConfig, VERSION } from './model-config.js';
import { type RecordedScores, SERVER_SCORES_FILE } from './score-servers.js';
import { buildServedGraph, SERVED_GRAPH_NAMES, servedName, signatureOf } from './served-graphs.js';

/** Share of the embeddings' root mean square: the recorded text is perturbed by it. */
const ALPHA_SHARE = 0.01;

export interface TritonExport {
  /** Folder of the repository; made if it is not there. */
  readonly output: string;
  /** Names of its models begin with it. */
  readonly name: string;
  readonly threads: number;
}

export interface WrittenRepository {
  readonly models: readonly string[];
  /** Whether the weights are links to the checkpoint's files; copies elsewhere than on its file system. */
  readonly weights: 'linked' | 'copied';
  /** File of the scores that `flinch serve` compares a server's with, beside the checkpoint's weights. */
  readonly scores: string;
}

/**
 * Writes a model repository for Triton's ONNX Runtime backend: for each graph `config.pbtxt` and
 * `1/model.onnx/model.onnx`, with the checkpoint's own weight files beside it. An unfinished file has a
 * name that ends with `.tmp`.
 *
 * @throws UsageError for a model that is there already; ModelError
 */
export async function writeTritonRepository(
  checkpoint: Checkpoint,
  { output, name, threads }: TritonExport,
): Promise<WrittenRepository> {
  const models = SERVED_GRAPH_NAMES.map((graph) => servedName(name, graph));
  for (const model of models) {
    if (existsSync(join(output, model))) {
      throw new UsageError(`--output: ${join(output, model)} is there already; delete it, or use --name`);
    }
  }
  // First, as it tells whether the model can be run at all.
  const scores = await recordScores(checkpoint, threads);
  let weights: WrittenRepository['weights'] = 'linked';
  for (const graph of SERVED_GRAPH_NAMES) {
    const built = buildServedGraph(checkpoint, graph);
    const model = servedName(name, graph);
    const unfinished = join(output, `${model}.tmp`);
    const folder = join(unfinished, String(VERSION), 'model.onnx');
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const { files, graph: moved } = withWeightsIn(folder, built);
    for (const [from, to] of files) if ((await linkOrCopy(from, to)) === 'copied') weights = 'copied';
    await writeFile(join(folder, 'model.onnx'), serialize(moved, folder));
    await writeFile(join(unfinished, 'config.pbtxt'), modelConfig(model, signatureOf(built)));
    await rename(unfinished, join(output, model));
  }
  const file = join(checkpoint.dir, SERVER_SCORES_FILE);
  await writeFile(file, `${JSON.stringify(scores)}\n`);
  return { models, weights, scores: file };
}

async function recordScores(checkpoint: Checkpoint, threads: number): Promise<RecordedScores> {
  const alpha = ALPHA_SHARE * (await checkpoint.embeddingRms());
  const sessions = new Sessions(checkpoint, { threads });
  const scores = await scoreText({ sessions, source: checkpoint, alpha });
  return { fingerprint: await fingerprint(checkpoint), alpha, scores };
}

/** The graph with its external data in another folder, under the same names. */
function withWeightsIn(folder: string, graph: FinishedGraph) {
  const files = new Map<string, string>();
  const initializers = graph.initializers.map((initializer) => {
    if (!('external' in initializer)) return initializer;
    const file = join(folder, basename(initializer.external.file));
    files.set(initializer.external.file, file);
    return { ...initializer, external: { ...initializer.external, file } };
  });
  const { inputs, outputs, nodes } = graph;
  return { files, graph: { inputs, outputs, nodes, initializers } };
}

async function linkOrCopy(from: string, to: string): Promise<WrittenRepository['weights']> {
  try {
    await link(from, to);
    return 'linked';
  } catch {
    await copyFile(from, to); // on another file system, or on one without links
    return 'copied';
  }
}
