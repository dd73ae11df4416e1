/**
 * `flinch/internals`: everything that flinch-bench uses beyond the public API. It is the only way in: flinch-bench imports
 * nothing else of `src` and `gateway`. Not for other packages: names may change in any release.
 */
export { asyncApi } from '../gateway/api/asyncapi.js';
export { openApi } from '../gateway/api/openapi.js';
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
export { type Checkpoint, openCheckpoint } from './checkpoint/checkpoint.js';
export { parseConfig } from './checkpoint/config.js';
export { digestLarge, fingerprint } from './checkpoint/fingerprint.js';
export { ggufNames } from './checkpoint/gguf/weights.js';
export { readSafetensors } from './checkpoint/safetensors.js';
export { expectedTensors } from './checkpoint/weights.js';
export { formatDevices, reportDevices } from './cli/devices.js';
export { reportError } from './cli/errors.js';
export { fieldOption } from './cli/field-option.js';
export { formatBytes, heading } from './cli/format.js';
export { elements } from './cli/model-facts.js';
export { deviceOption, integer, modelOption, precisionOption, real } from './cli/options.js';
export { flinchProgram } from './cli/program.js';
export { byteBar, Progress } from './cli/progress.js';
export { FLAG_OF_FIELD } from './cli/serve-config.js';
export { note, remark, say } from './cli/terminal.js';
export { bytesPerSecond, openReaders } from './cost/bandwidth.js';
export {
  type Operations,
  openProducts,
  type PassSize,
  passOperations,
  weightMatrices,
} from './cost/products.js';
export { interleave, interleaveTimed, type Sample, timed } from './cost/timing.js';
export { Sessions } from './engine/child/graph-sessions.js';
export { runForward, runScorePass } from './engine/child/score-pass.js';
export { runSequences, runtimeOf } from './engine/child/sequence-run.js';
export { candidates, type Device, type DeviceChoice, executionProviders } from './engine/device.js';
export { Engine } from './engine/engine.js';
export { EngineError } from './engine/errors.js';
export type { GenerateRequest } from './engine/generation.js';
export { Inbox } from './engine/inbox.js';
export { KvCache } from './engine/kv-cache.js';
export { decodeMemory, type MemoryNeed, scoreMemory } from './engine/memory.js';
export {
  longs,
  openSession,
} from './engine/ort-session.js';
export type { Precision } from './engine/precision.js';
export { EngineProcess } from './engine/process.js';
export { samplingDefaults, type TokenLogprob } from './engine/sampler.js';
export type { TokenStatistics } from './engine/token-statistics.js';
export { type DownloadOptions, download, sha256 } from './files/download.js';
export { lockDownloads } from './files/download-lock.js';
export { ModelError, reasonOf, show, TemplateError, UsageError } from './files/errors.js';
export { fetchFrom } from './files/fetch.js';
export { holderOf, lockFolder } from './files/folder-lock.js';
export { isMissing, isRecord, parseJson, readJson, readOptionalJson } from './files/json.js';
export { parseJsonLines } from './files/json-lines.js';
export { parseJsonText, readJsonFile } from './files/json-text.js';
export { listUpTo } from './files/limited-list.js';
export { startOf } from './files/process-start.js';
export { visible } from './files/visible.js';
export type { ModelSource } from './graphs/decoder.js';
export { buildScoreGraph } from './graphs/score-graph.js';
export { atRandom, lowestUncertainty, majority } from './guard/choose.js';
export { DEFAULT_GUARD, type Guard, policyOf } from './guard/guard.js';
export { type GuardedRequest, guardedGeneration } from './guard/guarded-generation.js';
export type { Choose } from './guard/policy.js';
export { hash32 } from './numerics/noise.js';
export { wilson } from './numerics/proportion.js';
export { Graph } from './onnx/graph.js';
export type { Value } from './onnx/types.js';
export { CLI_ENTRY, reasonerPath as EMBEDDED_MODEL } from './package-root.js';
export { calibrationFileOf, readCalibration } from './risk/calibration-file.js';
export { answerScore, isAlarm, type RiskModel, STATISTICS, type Statistic, stepScore } from './risk/risk.js';
export { riskModel } from './risk/risk-model.js';
export { StepAligner } from './steps/step-aligner.js';
export { stepContent } from './steps/step-content.js';
export { type StepMode, StepSegmenter, segmentText } from './steps/step-segmenter.js';
export { TokenSteps } from './steps/token-steps.js';
export type {
  GenerationEvent,
  GuardEvent,
  RollbackDoneEvent,
  StepEvent,
  WrittenEvent,
} from './stream/events.js';
export { FlowGate } from './stream/flow-gate.js';
export { scoredGeneration } from './stream/scored-generation.js';
export { extractFacts, type Span } from './tasks/facts.js';
export { generateProblems } from './tasks/generate.js';
export { ALL_TASKS, type Problem, TASKS, UNSEEN_TASKS } from './tasks/problem.js';
export { IN_WORDS, plainSolution, wordedSolution } from './tasks/solution.js';
export { verify } from './tasks/verify.js';
export type { ChatMessage } from './tokenizer/chat-template.js';
export { Detokenizer } from './tokenizer/detokenizer.js';
export { encodePrompt } from './tokenizer/prompt.js';
export { checkTextSteps } from './tokenizer/supported-pipeline.js';
export type { Tokenizer } from './tokenizer/tokenizer.js';
export {
  DEFAULT_METHODS,
  METHODS,
  type Method,
  PROBABILITY_METHODS,
  type Scores,
} from './uncertainty/method-names.js';
export { replicaOptions, sizeOf } from './uncertainty/replicas.js';
export type { Schedule } from './uncertainty/schedule.js';
export { type ScoredResponse, scoreResponse, type TokenScore } from './uncertainty/sequence-scorer.js';
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
} from './uncertainty/settings.js';
export { TOKUR_METHODS } from './uncertainty/tokur.js';
