import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { checkInstalled, optionalPackage } from '../../files/optional-package.js';
import type { ModelSource } from '../../graphs/decoder.js';
import type { GraphRunners } from '../child/graph-sessions.js';
import type { HeldSequences } from '../child/held-sequence.js';
import type { Runtime } from '../child/sequence-run.js';
import type { ScoreServers, ServerStatus } from './score-servers.js';

export interface OpenedServers {
  readonly sessions: GraphRunners;
  /** Keys and values that the servers hold. */
  readonly held: HeldSequences | undefined;
  readonly concurrency: number;
  readonly status: () => ServerStatus[];
}

/**
 * Checks every address: health, metadata, and that it computes the scores that the export recorded. An address that
 * fails is checked again later. Sequences are used if all addresses that pass support them.
 * @param lost called with the reason why an address is not used
 * @throws Error if none passes
 */
export type OpenServers = (
  model: { readonly source: ModelSource; readonly runtime: Runtime },
  servers: ScoreServers,
  lost: (reason: string) => void,
) => Promise<OpenedServers>;

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
export type WriteTritonRepository = (
  checkpoint: Checkpoint,
  options: TritonExport,
) => Promise<WrittenRepository>;

/** Exports of the package `flinch-triton`. */
interface TritonPackage {
  readonly openServers: OpenServers;
  readonly writeTritonRepository: WriteTritonRepository;
}

const TRITON_PACKAGE: string = 'flinch-triton';
const SCORING = 'scoring on inference servers (`scorer_url`)';

/** @throws UsageError if flinch-triton is not installed */
export const checkServersPackage = (): void => checkInstalled(SCORING, TRITON_PACKAGE);

/**
 * @param what name of the feature that needs it, for the error
 * @throws UsageError if flinch-triton is not installed
 */
export const tritonPackage = (what = SCORING): Promise<TritonPackage> =>
  optionalPackage(what, TRITON_PACKAGE, () => import(TRITON_PACKAGE));
