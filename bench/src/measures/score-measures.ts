import {
  type Engine,
  EngineError,
  type ScoredResponse,
  SettingsError,
  StepAligner,
  type StepMode,
  scoreResponse,
  segmentText,
  type TokenLogprob,
  type TokenScore,
} from 'flinch';
import pRetry from 'p-retry';
import { ccpUncertainty } from '../baselines/ccp.js';
import { type ClaimGraph, claimUncertainty } from '../baselines/claim-graph.js';
import { lexicalEmbeddings } from '../baselines/lexical.js';
import { graphUncertainty } from '../baselines/response-graph.js';
import { selfConsistency } from '../baselines/self-consistency.js';
import type { Encoders } from '../encoder/encoders.js';
import { alternatives, ccpByModel, ccpByRules } from './ccp-tokens.js';
import type { Measure, MeasureScores, TokenSpan } from './measure.js';
import { type SharedPass, sharedPasses } from './passes.js';
import { tokenSarScores } from './token-sar-scores.js';

/** A further response to the same prompt. */
export interface ScorableSample {
  readonly text: string;
  /** Whether its final answer is equivalent to that of the response; not so where it has none. */
  readonly agrees: boolean;
  /** Time of the generation: part of what Graph Uncertainty and Self-Consistency cost. */
  readonly seconds: number;
}

export interface Scorable {
  readonly promptIds: readonly number[];
  /** Question as the suite words it: the context of TokenSAR. */
  readonly question: string;
  /** Ids without the end token. */
  readonly tokenIds: readonly number[];
  /** Joined they are the response. */
  readonly tokenTexts: readonly string[];
  /** Steps, which together cover all of its tokens. */
  readonly steps: readonly TokenSpan[];
  /** How the steps were found; those of the samples are found alike. */
  readonly stepMode: StepMode;
  /** Samples, as many as `samplesNeeded` says; a measure takes the first of them. */
  readonly samples: readonly ScorableSample[];
  /** Graph of the response and its samples, if a judge made it. */
  readonly claimGraph?: ClaimGraph;
}

/** Scores by the names of the measures, as in `scoreSchema` of run/records.ts. */
export interface ResponseScores {
  readonly tokens: Readonly<Record<string, (number | null)[]>>;
  readonly stepScores: Readonly<Record<string, number[]>>;
  readonly response: Readonly<Record<string, number>>;
  readonly claimScores: Readonly<Record<string, number[]>>;
  /** Log-probabilities of the tokens under the engine; `null` if no measure needs a pass. */
  readonly logprobs: readonly number[] | null;
}

/**
 * Scores of a response by all measures, in as few passes as possible. Many responses may be under way at
 * once: the engine batches passes of the same kind, and a response waits while there is no memory for it.
 * @param measures whose models are there: see `withSubstitutes`
 * @throws EngineError, `too_long` when prompt and response exceed the context; SettingsError for a measure without its
 *   model, or with fewer samples than it takes or without its graph of claims
 */
export async function scoreMeasures(
  engine: Engine,
  response: Scorable,
  measures: readonly Measure[],
  encoders: Encoders,
): Promise<ResponseScores> {
  for (const measure of measures) checkGiven(measure, response, encoders);
  const scores = new Map<string, MeasureScores>();
  let logprobs: ResponseScores['logprobs'] = null;
  for (const pass of sharedPasses(measures)) {
    const scored = await run(engine, response, pass);
    logprobs ??= scored.tokens.map(({ logprob }) => logprob);
    for (const measure of pass.serves) {
      scores.set(measure.name, await ofTokens(measure, scored.tokens, response, { engine, encoders }));
    }
  }
  for (const measure of measures) {
    if (!scores.has(measure.name)) scores.set(measure.name, await ofSteps(measure, response, encoders));
  }
  const all = measures.map(({ name }) => [name, scores.get(name) ?? {}] as const);
  const pick = <T>(of: (scores: MeasureScores) => T | undefined): Record<string, T> =>
    Object.fromEntries(
      all.flatMap(([name, scores]) => {
        const value = of(scores);
        return value === undefined ? [] : [[name, value]];
      }),
    );
  return {
    tokens: pick(({ tokens }) => tokens && [...tokens]),
    stepScores: pick(({ steps }) => steps && [...steps]),
    response: pick(({ response }) => response),
    claimScores: pick(({ claims }) => claims && [...claims]),
    logprobs,
  };
}

/**
 * Seconds that one measure takes for one response, alone on the machine: passes, models, and for measures that need
 * further responses the time that those took to generate. Sessions open on first use: measure a second time.
 * @throws as {@link scoreMeasures}
 */
export async function timeMeasure(
  engine: Engine,
  response: Scorable,
  measure: Measure,
  encoders: Encoders,
): Promise<number> {
  const start = performance.now();
  await scoreMeasures(engine, response, [measure], encoders);
  const own = (performance.now() - start) / 1000;
  const samples = 'samples' in measure ? response.samples.slice(0, measure.samples) : [];
  return samples.reduce((sum, { seconds }) => sum + seconds, own);
}

/** Passes end where a stream's do. Memory is let go when others end: this one then has its turn. */
function run(
  engine: Engine,
  { promptIds, tokenIds, tokenTexts }: Scorable,
  pass: SharedPass,
): Promise<ScoredResponse> {
  const aligner = new StepAligner();
  const tokens = tokenIds.map((id, i) => ({ id, begins: aligner.begins(tokenTexts[i]!) }));
  const { top } = pass.scoring;
  const scoring = {
    ...pass.scoring,
    ...(top !== undefined && { top: Math.min(top, engine.checkpoint.config.vocabSize) }),
  };
  return pRetry(() => scoreResponse(engine, promptIds, tokens, scoring), {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 50,
    maxTimeout: 1000,
    shouldRetry: ({ error }) => error instanceof EngineError && error.code === 'overloaded',
  });
}

interface Context {
  readonly engine: Engine;
  readonly encoders: Encoders;
}

/** Scores of measures that use the statistics of tokens from a pass. */
async function ofTokens(
  measure: Measure,
  tokens: readonly TokenScore[],
  response: Scorable,
  { engine, encoders }: Context,
): Promise<MeasureScores> {
  if (measure.kind === 'engine') {
    const { method } = measure;
    return { tokens: tokens.map(({ scores }) => scores[method] ?? null) };
  }
  if (measure.kind === 'ccp') {
    const choices = alternatives(tokens, engine.checkpoint.tokenizer);
    const relate = measure.light ? null : encoders.relate;
    const logCcps = relate ? await ccpByModel(choices, relate) : ccpByRules(choices, response.tokenTexts);
    return {
      tokens: logCcps.map((value) => 0 - value),
      steps: response.steps.map((range) => ccpUncertainty(logCcps.slice(...range))),
      response: ccpUncertainty(logCcps),
    };
  }
  if (measure.kind === 'top_entropy')
    return { tokens: tokens.map(({ top = [] }) => entropyOf(top.slice(0, measure.top))) };
  if (measure.kind !== 'token_sar') return {};
  const compare = measure.light ? null : encoders.compare;
  const logprobs = tokens.map(({ logprob }) => logprob);
  return tokenSarScores(response, logprobs, measure.steps, compare);
}

const entropyOf = (known: readonly TokenLogprob[]): number =>
  known.reduce((sum, { logprob }) => sum - Math.exp(logprob) * logprob, 0);

/** Scores of measures that need no pass. */
async function ofSteps(
  measure: Measure,
  { tokenTexts, steps, stepMode, samples, claimGraph }: Scorable,
  encoders: Encoders,
): Promise<MeasureScores> {
  switch (measure.kind) {
    case 'graph': {
      const own = steps.map((range) => tokenTexts.slice(...range).join(''));
      const others = samples
        .slice(0, measure.samples)
        .map(({ text }) => segmentText(text, stepMode).map((step) => step.text));
      const embeddings = await embedAll([own, ...others], measure.light ? null : encoders.embed);
      const options = { clusterScale: measure.clusters, seed: measure.seed };
      return { steps: graphUncertainty(embeddings, options) };
    }
    case 'claim_graph':
      return { claims: claimUncertainty(claimGraph!, measure.samples) };
    case 'self_consistency':
      return { response: selfConsistency(samples.slice(0, measure.samples).map(({ agrees }) => agrees)) };
    default:
      return {};
  }
}

async function embedAll(
  texts: readonly (readonly string[])[],
  embed: Encoders['embed'],
): Promise<number[][][]> {
  const all = texts.flat().map((text) => text.trim());
  const embeddings = embed ? await embed(all) : lexicalEmbeddings(all);
  let next = 0;
  return texts.map((own) => own.map(() => embeddings[next++]!));
}

function checkGiven(measure: Measure, { samples, claimGraph }: Scorable, encoders: Encoders): void {
  const { name } = measure;
  const needed = { ccp: encoders.relate, token_sar: encoders.compare, graph: encoders.embed };
  if ('light' in measure && !measure.light && !needed[measure.kind]) {
    throw new SettingsError(name, 'needs a model, which was not given; its substitute needs none');
  }
  if ('samples' in measure && samples.length < measure.samples) {
    throw new SettingsError(name, `needs ${measure.samples} samples, but there are ${samples.length}`);
  }
  if (measure.kind === 'claim_graph' && !claimGraph)
    throw new SettingsError(name, 'needs a graph of claims, which a judge makes in the stage graph');
}
