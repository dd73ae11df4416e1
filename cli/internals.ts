/**
 * `flinch/internals`: everything that flinch-bench uses beyond the public API. It is the only way in: flinch-bench imports
 * nothing else of `src` and `gateway`. Not for other packages: names may change in any release.
 */
export { configSchema, upstreamModelSchema } from '../gateway/config/config.js';
export { CONFIG_VARIABLES } from '../gateway/config/variables.js';
export { ERROR_CODES } from '../gateway/errors/codes.js';
export { ERROR_MEANINGS } from '../gateway/errors/meanings.js';
export { metricsReference } from '../gateway/metrics/reference.js';
export { Agreement } from '../gateway/upstream/alignment/agreement.js';
export { VocabularyMismatch } from '../gateway/upstream/alignment/mismatch.js';
export { UpstreamError } from '../gateway/upstream/errors.js';
export { credentialsOf } from '../gateway/upstream/open-upstream-model.js';
export type { UpstreamRequest } from '../gateway/upstream/upstream.js';
export { UpstreamServer } from '../gateway/upstream/upstream-server.js';
export { UpstreamWriter } from '../gateway/upstream/upstream-writer.js';
export { CLOSE_CODE_MEANINGS, isFinal } from '../gateway/websocket/close-codes.js';
export { type Checkpoint, openCheckpoint } from '../src/checkpoint/checkpoint.js';
export { parseConfig } from '../src/checkpoint/config.js';
export { digestLarge, fingerprint } from '../src/checkpoint/fingerprint.js';
export { ggufNames } from '../src/checkpoint/gguf/weights.js';
export { readSafetensors } from '../src/checkpoint/safetensors.js';
export { expectedTensors } from '../src/checkpoint/weights.js';
export { bytesPerSecond, openReaders } from '../src/cost/bandwidth.js';
export {
  type Operations,
  openProducts,
  type PassSize,
  passOperations,
  weightMatrices,
} from '../src/cost/products.js';
export { interleave, interleaveTimed, type Sample, timed } from '../src/cost/timing.js';
export { Sessions } from '../src/engine/child/graph-sessions.js';
export { runForward, runScorePass } from '../src/engine/child/score-pass.js';
export { runSequences, runtimeOf } from '../src/engine/child/sequence-run.js';
export { candidates, type Device, type DeviceChoice, executionProviders } from '../src/engine/device.js';
export { Engine } from '../src/engine/engine.js';
export { EngineError } from '../src/engine/errors.js';
export type { GenerateRequest } from '../src/engine/generation.js';
export { Inbox } from '../src/engine/inbox.js';
export { KvCache } from '../src/engine/kv-cache.js';
export { decodeMemory, type MemoryNeed, scoreMemory } from '../src/engine/memory.js';
export {
  longs,
  openSession,
} from '../src/engine/ort-session.js';
export type { Precision } from '../src/engine/precision.js';
export { EngineProcess } from '../src/engine/process.js';
export { samplingDefaults, type TokenLogprob } from '../src/engine/sampler.js';
export type { TokenStatistics } from '../src/engine/token-statistics.js';
export { type DownloadOptions, download, sha256 } from '../src/files/download.js';
export { lockDownloads } from '../src/files/download-lock.js';
export { ModelError, reasonOf, show, TemplateError, UsageError } from '../src/files/errors.js';
export { fetchFrom } from '../src/files/fetch.js';
export { holderOf, lockFolder } from '../src/files/folder-lock.js';
export { isMissing, isRecord, parseJson, readJson, readOptionalJson } from '../src/files/json.js';
export { parseJsonLines } from '../src/files/json-lines.js';
export { parseJsonText, readJsonFile } from '../src/files/json-text.js';
export { listUpTo } from '../src/files/limited-list.js';
export { startOf } from '../src/files/process-start.js';
export { visible } from '../src/files/visible.js';
export type { ModelSource } from '../src/graphs/decoder.js';
export { buildScoreGraph } from '../src/graphs/score-graph.js';
export { atRandom, lowestUncertainty, majority } from '../src/guard/choose.js';
export { DEFAULT_GUARD, type Guard, policyOf } from '../src/guard/guard.js';
export { type GuardedRequest, guardedGeneration } from '../src/guard/guarded-generation.js';
export type { Choose } from '../src/guard/policy.js';
export { hash32 } from '../src/numerics/noise.js';
export { wilson } from '../src/numerics/proportion.js';
export { Graph } from '../src/onnx/graph.js';
export type { Value } from '../src/onnx/types.js';
export {
  firstReasonerPath as FIRST_MODEL,
  reasonerPath as EMBEDDED_MODEL,
} from '../src/package-root.js';
export { calibrationFileOf, readCalibration } from '../src/risk/calibration-file.js';
export {
  answerScore,
  isAlarm,
  type RiskModel,
  STATISTICS,
  type Statistic,
  stepScore,
} from '../src/risk/risk.js';
export { riskModel } from '../src/risk/risk-model.js';
export { StepAligner } from '../src/steps/step-aligner.js';
export { stepContent } from '../src/steps/step-content.js';
export { type StepMode, StepSegmenter, segmentText } from '../src/steps/step-segmenter.js';
export { TokenSteps } from '../src/steps/token-steps.js';
export type {
  GenerationEvent,
  GuardEvent,
  RollbackDoneEvent,
  StepEvent,
  WrittenEvent,
} from '../src/stream/events.js';
export { FlowGate } from '../src/stream/flow-gate.js';
export { scoredGeneration } from '../src/stream/scored-generation.js';
export { extractFacts, type Span } from '../src/tasks/facts.js';
export { generateProblems } from '../src/tasks/generate.js';
export { ALL_TASKS, type Problem, TASKS, tasksOf, UNSEEN_TASKS } from '../src/tasks/problem.js';
export { IN_WORDS, plainSolution, wordedSolution } from '../src/tasks/solution.js';
export { verify } from '../src/tasks/verify.js';
export type { ChatMessage } from '../src/tokenizer/chat-template.js';
export { Detokenizer } from '../src/tokenizer/detokenizer.js';
export { encodePrompt } from '../src/tokenizer/prompt.js';
export { checkTextSteps } from '../src/tokenizer/supported-pipeline.js';
export type { Tokenizer } from '../src/tokenizer/tokenizer.js';
export {
  DEFAULT_METHODS,
  METHODS,
  type Method,
  PROBABILITY_METHODS,
  type Scores,
} from '../src/uncertainty/method-names.js';
export { replicaOptions, sizeOf } from '../src/uncertainty/replicas.js';
export type { Schedule } from '../src/uncertainty/schedule.js';
export { type ScoredResponse, scoreResponse, type TokenScore } from '../src/uncertainty/sequence-scorer.js';
export {
  absoluteScoring,
  checkScoring,
  DEFAULT_ALPHA,
  DEFAULT_BLOCK,
  DEFAULT_RANDOM,
  DEFAULT_SCORING,
  DEFAULT_TOKUR,
  DEFAULT_WINDOW,
  MAX_SAMPLES,
  MAX_TOKUR_SAMPLES,
  MAX_TOP,
  parseScale,
  type Scale,
  type Scoring,
  SettingsError,
  TOKUR_LAWS,
} from '../src/uncertainty/settings.js';
export { TOKUR_METHODS } from '../src/uncertainty/tokur.js';
export { formatDevices, reportDevices } from './devices.js';
export { CLI_ENTRY } from './entry.js';
export { reportError } from './errors.js';
export { fieldOption } from './field-option.js';
export { formatBytes, heading } from './format.js';
export { elements } from './model-facts.js';
export { deviceOption, integer, modelOption, precisionOption, real } from './options.js';
export { flinchProgram } from './program.js';
export { byteBar, Progress } from './progress.js';
export { FLAG_OF_FIELD } from './serve-config.js';
export { note, remark, say } from './terminal.js';
