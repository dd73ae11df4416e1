/** flinch as a library: text generation with uncertainty scores for each token. No HTTP, no sockets. */

export { type Checkpoint, openCheckpoint } from './checkpoint/checkpoint.js';
export type { Device, DeviceChoice } from './engine/device.js';
export { Engine, type EngineOptions } from './engine/engine.js';
export { EngineError, type EngineErrorCode } from './engine/engine-errors.js';
export type { Rival } from './engine/engine-messages.js';
export type { ProcessLoss } from './engine/engine-process.js';
export type { GeneratedToken, GenerateRequest, Generation, GenerationEnd } from './engine/generation.js';
export type { Sampling, TokenLogprob } from './engine/sampler.js';
export { ModelError } from './files/file-errors.js';
export {
  type Branch,
  type BranchJudge,
  type BranchPoint,
  type BranchScorer,
  type BranchScoring,
  type BranchWriter,
  branchOf,
  type Continuation,
} from './guard/branch.js';
export {
  type EngineBranchOptions,
  engineBranch,
  engineScorer,
  engineWriter,
  type ForkableScorer,
} from './guard/engine-branch.js';
export { checkPromise, DEFAULT_GUARD, type Guard, neverFires, policyOf } from './guard/guard.js';
export { checkGuard } from './guard/guard-fields.js';
export {
  type GuardedBranchOptions,
  guardedBranch,
  type Judging,
} from './guard/guarded-branch.js';
export { type GuardedRequest, guardedGeneration } from './guard/guarded-generation.js';
export { type InterveneOptions, intervene } from './guard/intervene.js';
export {
  type Candidate,
  type Choose,
  type Intervention,
  lowestUncertainty,
  majority,
  type Policy,
  type PolicyContext,
} from './guard/policy.js';
export type { TokurSettings } from './numerics/tokur-noise.js';
export { reasonerPath } from './package-root.js';
export { CalibratedRisk } from './risk/calibrated-risk.js';
export type { Calibration, CalibrationFile, MethodCalibration } from './risk/calibration.js';
export {
  CALIBRATION_FILE,
  calibrationFileOf,
  calibrationOf,
  judgeOf,
  readCalibration,
} from './risk/calibration-file.js';
export { answerScore, isAlarm, type RiskModel } from './risk/risk.js';
export { type RatedBy, riskModel } from './risk/risk-model.js';
export { RunningRisk } from './risk/running-risk.js';
export { ScoreCollector, type ScoredAnswer } from './risk/score-collector.js';
export { type ScoredText, stepScore, type TextKind, type WeighedScore, weigh } from './risk/step-score.js';
export { StepAligner } from './steps/step-aligner.js';
export { stepContent } from './steps/step-content.js';
export { type StepMode, StepSegmenter, segmentText, type TextStep } from './steps/step-segmenter.js';
export type { Part, PartOf } from './steps/text-part.js';
export { type StepSpan, TokenSteps, type TokenStepsOptions } from './steps/token-steps.js';
export { type CollectedAnswer, collectScores } from './stream/collect-scores.js';
export type {
  CandidateSummary,
  DoneEvent,
  FinishReason,
  FlaggedEvent,
  GenerationEvent,
  GuardEvent,
  Rating,
  RetractedEvent,
  RollbackDoneEvent,
  RollbackStartedEvent,
  ScoreEvent,
  ScorerMismatchEvent,
  StepClosedEvent,
  StepEvent,
  TokenEvent,
  TopToken,
  Unscored,
  UpstreamEvent,
  Usage,
  Verdict,
  WrittenEvent,
} from './stream/events.js';
export { type FlagOptions, flagSteps } from './stream/flag-steps.js';
export { FlowGate } from './stream/flow-gate.js';
export { generate } from './stream/generate.js';
export { type HoldOptions, holdBack } from './stream/hold-back.js';
export { type JudgeOptions, judgeAnswer } from './stream/judge-answer.js';
export { type LaterScoresOptions, laterScores } from './stream/later-scores.js';
export { rateRisk } from './stream/rate-risk.js';
export { type RefuseOptions, refuseUnscored, UnscoredError } from './stream/refuse-unscored.js';
export {
  modelId,
  type ScoreOptions,
  score,
  type TokenScorer,
} from './stream/score.js';
export { scoredGeneration } from './stream/scored-generation.js';
export { segmentSteps } from './stream/segment-steps.js';
export type { ChatMessage } from './tokenizer/chat-template.js';
export { encodePrompt, encodeText } from './tokenizer/prompt.js';
export {
  DEFAULT_METHODS,
  isProbability,
  METHODS,
  type Method,
  PROBABILITY_METHODS,
  type Scores,
} from './uncertainty/method-names.js';
export type { Schedule } from './uncertainty/schedule.js';
export {
  type NewToken,
  type ScoredResponse,
  SequenceScorer,
  scoreResponse,
  type TokenScore,
} from './uncertainty/sequence-scorer.js';
export {
  type AbsoluteScoring,
  absoluteScoring,
  checkScoring,
  DEFAULT_SCORING,
  parseScale,
  type RandomSettings,
  type Scale,
  type Scoring,
  SettingsError,
} from './uncertainty/settings.js';
