import { extractGsm8kAnswer, sameGsm8kAnswer } from '#bench/answers/gsm8k-answer.js';
import { type Alternative, combineRelations, logCcp, wordOf } from '#bench/baselines/ccp.js';
import { type StepGraph, stepGraph } from '#bench/baselines/graph.js';
import { lexicalSimilarity } from '#bench/baselines/lexical.js';
import { selfConsistency } from '#bench/baselines/self-consistency.js';
import { isStopWord } from '#bench/baselines/stop-words.js';
import type { Encoders, TextPair } from '#bench/encoder/encoders.js';
import { alternatives } from '#bench/measures/ccp-tokens.js';
import { parseMeasure } from '#bench/measures/parse-measure.js';
import { type Scorable, scoreMeasures } from '#bench/measures/score-measures.js';
import type { Engine } from '#src/engine/engine.js';
import type { TokenLogprob } from '#src/engine/sampler.js';
import { segmentText } from '#src/steps/step-segmenter.js';
import { Detokenizer } from '#src/tokenizer/detokenizer.js';
import { PROBABILITY_METHODS } from '#src/uncertainty/method-names.js';
import { scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import { DEFAULT_SCORING } from '#src/uncertainty/settings.js';
import type { Answer } from './answers.js';
import { cpuSeconds } from './cpu-seconds.js';
import { mean } from './means.js';

/** Number of alternatives, the most that any of the peers reads. */
const TOP = 20;

const PASS = PROBABILITY_METHODS.map(parseMeasure);
const CCP = parseMeasure('ccp');
const TOKEN_SAR = parseMeasure('token_sar');

export interface FlinchAnswer {
  readonly nll: readonly number[];
  readonly entropy: readonly number[];
  readonly margin: readonly number[];
  /** −log CCP. */
  readonly ccp: readonly number[];
  /** −log CCP by lm-polygraph's rules; `null` for a token that is not among its own ten most probable. */
  readonly ccpAsPolygraph: readonly (number | null)[];
  /** Whether CCP takes the token for a function word or empty. */
  readonly functional: readonly boolean[];
  readonly tokenSar: number;
  /** Mean NLL and mean entropy with the end token, of an answer that has one. */
  readonly withEnd: { readonly perplexity: number; readonly entropy: number } | null;
  /** Log-probabilities of the most probable tokens, descending, `[token][rank]`. */
  readonly top: readonly (readonly number[])[];
  /** Seconds of processor time. */
  readonly seconds: { readonly pass: number; readonly ccp: number; readonly token_sar: number };
}

export type GivenEncoders = { readonly [K in 'relate' | 'embed']: NonNullable<Encoders[K]> };

/** Substitute for a cross-encoder: the cosine of MiniLM's embeddings, as in `measure_polygraph.py`. */
export const compareBy =
  (embed: GivenEncoders['embed']): NonNullable<Encoders['compare']> =>
  async (pairs) => {
    const texts = [...new Set(pairs.flat())];
    const rows = new Map((await embed(texts)).map((row, i) => [texts[i]!, row]));
    return pairs.map(([a, b]) => dot(rows.get(a)!, rows.get(b)!));
  };

/** flinch-bench's measures of one answer. */
export async function measureAnswer(
  engine: Engine,
  answer: Answer,
  encoders: GivenEncoders,
): Promise<FlinchAnswer> {
  const given = { ...encoders, compare: compareBy(encoders.embed) };
  const response = scorable(engine, answer);
  const timed = async <T>(work: Promise<T>, start = cpuSeconds()) => ({
    value: await work,
    seconds: cpuSeconds() - start,
  });
  const pass = await timed(scoreMeasures(engine, response, PASS, given));
  const ccp = await timed(scoreMeasures(engine, response, [CCP], given));
  const tokenSar = await timed(scoreMeasures(engine, response, [TOKEN_SAR], given));
  const { nll = [], entropy = [], margin = [] } = pass.value.tokens as Record<string, number[]>;
  const { tokens } = await scoreResponse(engine, answer.prompt, answer.tokens, {
    ...DEFAULT_SCORING,
    methods: ['nll'],
    schedule: { kind: 'offline' },
    top: TOP,
  });
  const choices = alternatives(tokens, 10, engine.checkpoint.tokenizer);
  const own = tokens.map(({ id, top = [] }) => top.slice(0, 10).some((one: TokenLogprob) => one.id === id));
  const theirs = await ccpAsPolygraph(choices, encoders.relate);
  const words = choices.map(([first]) => wordOf(first?.text ?? ''));
  return {
    nll,
    entropy,
    margin,
    ccp: (ccp.value.tokens.ccp ?? []) as number[],
    ccpAsPolygraph: theirs.map((value, i) => (own[i] ? value : null)),
    functional: words.map((word) => word === '' || isStopWord(word)),
    tokenSar: tokenSar.value.response.token_sar ?? Number.NaN,
    withEnd: answer.end === null ? null : await meansWithEnd(engine, answer, answer.end),
    top: tokens.map(({ top = [] }) => top.map(({ logprob }) => logprob)),
    seconds: { pass: pass.seconds, ccp: ccp.seconds, token_sar: tokenSar.seconds },
  };
}

/** Scores of flinch-bench for an answer and its samples. */
export interface FlinchQuestion {
  readonly selfConsistency: number;
  /** Final answers that were read, `null` where there is none. */
  readonly finals: readonly (string | null)[];
  /** Mean of `0.5 + cosine / 2` of the answer and its samples. */
  readonly cosine: number;
  /** Mean similarity of all pairs of samples, by words. */
  readonly lexical: number;
  readonly graph: StepGraph;
}

/** @param answers to one question, the one that the others are samples for first */
export async function measureQuestion(
  answers: readonly Answer[],
  { embed }: GivenEncoders,
): Promise<FlinchQuestion> {
  const texts = answers.map(({ text }) => text);
  const finals = texts.map(extractGsm8kAnswer);
  const [first = null, ...others] = finals;
  const agrees = others.map((other) => first !== null && other !== null && sameGsm8kAnswer(other, first));
  const [row = [], ...rows] = await embed(texts);
  const samples = texts.slice(1);
  const pairs = samples.flatMap((a, i) => samples.slice(i + 1).map((b) => [a, b] as const));
  const steps = texts.map((text) => segmentText(text, 'sentence').map((step) => step.text.trim()));
  const embeddings: number[][][] = [];
  for (const own of steps) embeddings.push(await embed(own));
  return {
    selfConsistency: selfConsistency(agrees),
    finals,
    cosine: mean(rows.map((other) => 0.5 + dot(row, other) / 2)),
    lexical: mean(pairs.map(([a, b]) => lexicalSimilarity(a, b))),
    graph: stepGraph(embeddings),
  };
}

/**
 * CCP as lm-polygraph 0.7.0 has it: no function words, and the model is asked about every pair, also of equal and of
 * empty words. (The token itself must be among the ten: theirs then comes first, as here.)
 */
async function ccpAsPolygraph(
  choices: readonly (readonly Alternative[])[],
  relate: GivenEncoders['relate'],
): Promise<number[]> {
  const values: number[] = [];
  for (const alternatives of choices) {
    const [first = '', ...others] = alternatives.map(({ text }) => stripped(text));
    const pairs: TextPair[] = others.flatMap((other): TextPair[] => [
      [first, other],
      [other, first],
    ]);
    const relations = await relate(pairs);
    const combined = others.map((_, i) => combineRelations(relations[2 * i]!, relations[2 * i + 1]!));
    values.push(
      0 -
        logCcp(
          alternatives.map(({ logprob }) => logprob),
          ['entail', ...combined],
        ),
    );
  }
  return values;
}

/** lm-polygraph strips these alone, and no other white space. */
const stripped = (text: string): string => text.replace(/^[ \n!-/:-@[-`{-~]+|[ \n!-/:-@[-`{-~]+$/g, '');

function scorable(engine: Engine, { prompt, asked, tokens }: Answer): Scorable {
  const detokenizer = new Detokenizer(engine.checkpoint.tokenizer);
  const tokenTexts = tokens.map((token) => detokenizer.push(token));
  if (tokenTexts.length > 0) tokenTexts[tokenTexts.length - 1] += detokenizer.flush();
  return {
    promptIds: prompt,
    question: asked,
    tokenIds: tokens,
    tokenTexts,
    steps: [[0, tokens.length]],
    stepMode: 'sentence',
    samples: [],
  };
}

async function meansWithEnd(engine: Engine, answer: Answer, end: number) {
  const response = scorable(engine, { ...answer, tokens: [...answer.tokens, end] });
  const none = { relate: null, compare: null, embed: null };
  const { tokens } = await scoreMeasures(engine, response, PASS, none);
  return { perplexity: mean(tokens.nll as number[]), entropy: mean(tokens.entropy as number[]) };
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0);
