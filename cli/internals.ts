/// <reference types="node" preserve="true" />

/**
 * `flinch/internals`: everything that flinch-bench uses beyond the public API. It is the only way in: flinch-bench imports
 * nothing else of `src` and `gateway`. Not for other packages: names may change in any release.
 */
export { upstreamModelSchema } from '../gateway/config/models-section.js';
export { Agreement } from '../gateway/upstream/alignment/agreement.js';
export { VocabularyMismatch } from '../gateway/upstream/alignment/id-alignment.js';
export { credentialsOf } from '../gateway/upstream/open-upstream-model.js';
export { UpstreamServer } from '../gateway/upstream/servers/upstream-server.js';
export { UpstreamWriter } from '../gateway/upstream/servers/upstream-writer.js';
export type { UpstreamRequest } from '../gateway/upstream/upstream.js';
export { UpstreamError } from '../gateway/upstream/upstream-error.js';
export {
  ANSWER_KINDS,
  type AnswerKey,
  type AnswerKind,
  kindOf,
  type Reading,
} from '../src/answers/answer-kind.js';
export { lastBoxed } from '../src/answers/boxed.js';
export { parseNumber, sameNumber } from '../src/answers/exact-number.js';
export { finalAnswer } from '../src/answers/final-answer.js';
export { finalText, withoutThoughts } from '../src/answers/final-text.js';
export { plainText, words } from '../src/answers/plain-text.js';
export { readAnswer } from '../src/answers/read-answer.js';
export { digestLarge, fingerprint } from '../src/checkpoint/fingerprint.js';
export { candidates, executionProviders } from '../src/engine/device.js';
export { EngineProcess } from '../src/engine/engine-process.js';
export { Inbox } from '../src/engine/inbox.js';
export { longs } from '../src/engine/ort-session.js';
export { type DownloadOptions, download, sha256 } from '../src/files/download.js';
export { parseExactJson } from '../src/files/exact-json.js';
export { reasonOf, show, TemplateError, UsageError } from '../src/files/file-errors.js';
export { lockDownloads, lockFolder } from '../src/files/folder-lock.js';
export { isMissing, isRecord, parseJson, readJson, readOptionalJson } from '../src/files/json.js';
export { parseJsonLines, parseJsonText, readJsonFile } from '../src/files/json-text.js';
export { visible, visibleLine } from '../src/files/visible.js';
export { linearRegex } from '../src/guard/linear-regex.js';
export { answersNeeded, elected, type Said } from '../src/guard/vote.js';
export { hash32 } from '../src/numerics/noise.js';
export { wilson } from '../src/numerics/proportion.js';
export { type Calibration, withCalibration } from '../src/risk/calibration.js';
export { readKeptCalibration, writeCalibration } from '../src/risk/calibration-file.js';
export { chooseMethod, type MethodChoice, MIN_LABELLED } from '../src/risk/method-choice.js';
export { MIN_STEPS, MIN_TOKENS } from '../src/risk/running-risk.js';
export { type Samples, ScoreCollector, type ScoredAnswer, samplesOf } from '../src/risk/score-collector.js';
export { STEP_RULE_VERSION } from '../src/steps/step-rule.js';
export { TokenSteps } from '../src/steps/token-steps.js';
export { Detokenizer } from '../src/tokenizer/detokenizer.js';
export { checkTextSteps } from '../src/tokenizer/supported-pipeline.js';
export type { Tokenizer } from '../src/tokenizer/tokenizer.js';
export { PROBABILITY_METHODS, TOKUR_METHODS } from '../src/uncertainty/method-names.js';
export {
  DEFAULT_ALPHA,
  DEFAULT_BLOCK,
  DEFAULT_RANDOM,
  DEFAULT_TOKUR,
  DEFAULT_WINDOW,
  MAX_SAMPLES,
  MAX_TOKUR_SAMPLES,
  MAX_TOP,
} from '../src/uncertainty/settings.js';
export { formatThresholds, thresholdsOf } from './calibrate/calibrate-report.js';
export { formatDevices, reportDevices } from './devices.js';
export { reportError } from './exit-errors.js';
export { elements } from './model-facts.js';
export { deviceOption, integer, modelOption, real } from './options.js';
export { type ByteBar, byteBar, Progress } from './progress.js';
export { linesOf } from './score/input-lines.js';
export { note, remark, say, showsBars } from './terminal.js';
export { formatBytes, formatDuration, formatTable, heading } from './terminal-format.js';
