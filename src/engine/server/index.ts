/// <reference types="node" preserve="true" />

/**
 * `flinch/engine-server`: what flinch-triton needs of the engine, to write its graphs for inference servers and to run
 * them there. Not for other packages: names may change in any release.
 */
export type { Checkpoint } from '../../checkpoint/checkpoint.js';
export { fingerprint } from '../../checkpoint/fingerprint.js';
export { UsageError } from '../../files/errors.js';
export type { ModelSource } from '../../graphs/decoder.js';
export { byTokenStatistic, TOKEN_STATISTICS } from '../../numerics/token-statistics.js';
export type { Graph } from '../../onnx/graph.js';
export { serialize } from '../../onnx/serialize.js';
export type { ElementType, TensorType, Value } from '../../onnx/types.js';
export type { FinishedGraph } from '../../onnx/weights-as-inputs.js';
export {
  buildGraph,
  type GraphRunners,
  type GraphSpec,
  type PlainSpec,
  Sessions,
} from '../child/graph-sessions.js';
export type { HeldSequence, HeldSequences, Runs } from '../child/held-sequence.js';
export { LEAST_ROOM } from '../child/prefix-cache.js';
export { ADVERSARY, readTokens, STATISTICS } from '../child/score-pass.js';
export { ScoreWorker, type ScoreWorkerOptions } from '../child/score-worker.js';
export { count, RunResult, type Runtime } from '../child/sequence-run.js';
export { debug } from '../debug.js';
export { type Feeds, type Fetches, floats, type GraphRunner, longs } from '../ort-session.js';
export type { FromScore, PassMessage, PassToken } from '../protocol.js';
export { rowsPerRun } from '../run-limits.js';
export {
  type RecordedScores,
  type ScoreServers,
  SERVER_SCORES_FILE,
  type ServerStatus,
} from './score-servers.js';
export type {
  OpenedServers,
  OpenServers,
  WriteTritonRepository,
  WrittenRepository,
} from './triton-package.js';
