import { rm } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { sum } from 'simple-statistics';
import { beforeAll, describe, expect, it } from 'vitest';
import { graphUncertainty } from '#bench/baselines/response-graph.js';
import { type Encoders, openEncoders, type TextPair } from '#bench/encoder/encoders.js';
import { parseMeasure, parseMeasures } from '#bench/measures/parse-measure.js';
import { type Scorable, scoreMeasures, timeMeasure } from '#bench/measures/score-measures.js';
import { tokenSarScores } from '#bench/measures/token-sar-scores.js';
import { responseSteps } from '#bench/steps/response-steps.js';
import {
  DEFAULT_SCORING,
  Engine,
  encodePrompt,
  StepAligner,
  scoreResponse,
  segmentText,
} from '#src/index.js';
import { NO_ENCODERS } from '../../support/encoders.js';
import { REASONER } from '../../support/golden.js';
import { sharedReasoner } from '../../support/shared-engines.js';
import { NLI_HEAD, SIMILARITY_HEAD, writeTinyEncoder } from '../../support/tiny-encoder.js';

const QUESTION = 'Tom has 12 marbles. He gives away 5 and buys 3. How many does he have?';
const TEXT =
  'Tom starts with 12 marbles.\nHe gives away 5, so he has 7.\nHe buys 3, so he has 11.\nAnswer: 11';
const SAMPLES = [
  { text: TEXT.replaceAll('11', '10'), agrees: false, seconds: 100 },
  { text: TEXT, agrees: true, seconds: 20 },
  { text: 'Answer: 11', agrees: true, seconds: 3 },
  { text: '', agrees: false, seconds: 0 },
];

describe('scoreMeasures', () => {
  let engine: Engine;
  let response: Scorable;

  beforeAll(async () => {
    engine = await sharedReasoner();
    const { tokenizer } = engine.checkpoint;
    const tokenIds = tokenizer.encode(TEXT);
    const tokenTexts = tokenIds.map((id) => new TextDecoder().decode(tokenizer.tokenBytes(id)));
    response = {
      promptIds: encodePrompt(engine.checkpoint, [{ role: 'user', content: QUESTION }]),
      question: QUESTION,
      tokenIds,
      tokenTexts,
      steps: responseSteps(tokenTexts, 'sentence').map(({ tokens: { start, end } }) => [start, end]),
      stepMode: 'sentence',
      samples: SAMPLES,
    };
  });

  const score = (names: string, encoders: Encoders = NO_ENCODERS) =>
    scoreMeasures(engine, response, parseMeasures(names), encoders);

  it('says of each measure what it scores of itself, under its name', async () => {
    const names =
      'adversarial,adversarial:block=8,window=64,random:samples=2,tokur_eu,nll,ccp-rules,token_sar-lexical,graph-lexical,self_consistency:samples=4';
    const { tokens, stepScores, response: whole } = await score(names);
    const n = response.tokenIds.length;
    expect(Object.fromEntries(Object.entries(tokens).map(([name, scores]) => [name, scores.length]))).toEqual(
      {
        adversarial: n,
        'adversarial:block=8,window=64': n,
        'random:samples=2': n,
        tokur_eu: n,
        nll: n,
        'ccp-rules': n,
        'token_sar-lexical': n,
      },
    );
    expect(Object.keys(stepScores)).toEqual(['ccp-rules', 'token_sar-lexical', 'graph-lexical']);
    for (const scores of Object.values(stepScores)) expect(scores).toHaveLength(response.steps.length);
    expect(Object.keys(whole)).toEqual(['ccp-rules', 'token_sar-lexical', 'self_consistency:samples=4']);
    expect(whole['self_consistency:samples=4']).toBe(0.5);
  });

  it('takes the entropy of the most probable tokens alone', async () => {
    const { tokens } = await score('entropy,entropy:top=20,entropy:top=2');
    const scoring = { ...DEFAULT_SCORING, schedule: { kind: 'offline' }, methods: ['nll'], top: 20 } as const;
    const { tokens: scored } = await scoreResponse(engine, response.promptIds, response.tokenIds, scoring);
    for (const [i, { top }] of scored.entries()) {
      const terms = top!.map(({ logprob }) => -logprob * Math.exp(logprob));
      expect(tokens['entropy:top=20']![i]).toBeCloseTo(sum(terms), 4);
      expect(tokens['entropy:top=2']![i]).toBeCloseTo(sum(terms.slice(0, 2)), 4);
      expect(tokens['entropy:top=20']![i]).toBeLessThanOrEqual(tokens.entropy![i]! + 1e-5);
    }
  });

  it('gives each what a scoring for it alone gives', async () => {
    const { tokens } = await score('adversarial,random:samples=2,nll,tokur_eu,adversarial:block=8,window=64');
    const alone = async (
      name: string,
      scoring: Parameters<typeof scoreResponse>[3],
      given: Parameters<typeof scoreResponse>[2] = response.tokenIds,
    ) => {
      const [method] = scoring.methods;
      const { tokens: scored } = await scoreResponse(engine, response.promptIds, given, scoring);
      const expected = scored.map(({ scores }) => expect.closeTo(scores[method!]!, 3));
      expect(tokens[name]).toEqual(expected);
      return scored.map(({ scores }) => scores[method!]!);
    };
    const offline = { ...DEFAULT_SCORING, form: 'perturb', schedule: { kind: 'offline' } } as const;
    await alone('adversarial', { ...offline, methods: ['adversarial'] });
    await alone('nll', { ...offline, methods: ['nll'] });
    await alone('tokur_eu', { ...offline, methods: ['tokur_eu'] });
    await alone('random:samples=2', {
      ...offline,
      methods: ['random'],
      random: { samples: 2, sigma: 1e-3, seed: 0 },
    });
    const schedule = { kind: 'windowed', block: 8, window: 64 } as const;
    const streamed = { ...DEFAULT_SCORING, methods: ['adversarial'], schedule } as const;
    const aligner = new StepAligner();
    const inSteps = response.tokenIds.map((id, i) => ({
      id,
      begins: aligner.begins(response.tokenTexts[i]!),
    }));
    const aligned = await alone('adversarial:block=8,window=64', streamed, inSteps);
    const { tokens: unaligned } = await scoreResponse(
      engine,
      response.promptIds,
      response.tokenIds,
      streamed,
    );
    expect(unaligned.some(({ scores }, i) => Math.abs(scores.adversarial! - aligned[i]!) > 0.01)).toBe(true);
  });

  it('finds alternatives of a number that contradict it', async () => {
    const { tokens, stepScores, response: whole } = await score('ccp-rules,nll');
    const ccp = tokens['ccp-rules']!;
    const wrong = response.tokenTexts.findIndex(
      (text, i) => text.includes('1') && i > 0 && tokens.nll![i]! > 1,
    );
    expect(ccp[wrong]!).toBeGreaterThan(0.5);
    expect(ccp.every((value) => value! >= 0)).toBe(true);
    const sum = ccp.reduce((a: number, b) => a + b!, 0);
    expect(whole['ccp-rules']).toBeCloseTo(sum, 10);
    expect(stepScores['ccp-rules']!.reduce((a, b) => a + b)).toBeCloseTo(sum, 10);
  });

  it('asks the model of CCP once about each pair of words, both ways', async () => {
    const asked: TextPair[] = [];
    const relate = async (pairs: readonly TextPair[]) => {
      asked.push(...pairs);
      return pairs.map(() => 'contra' as const);
    };
    const { tokens } = await score('ccp,ccp-rules', { ...NO_ENCODERS, relate });
    const keys = asked.map((pair) => pair.join(' | '));
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.length).toBeGreaterThan(10);
    for (const [a, b] of asked) {
      expect(keys).toContain(`${b} | ${a}`);
      expect(a.toLowerCase()).not.toBe(b.toLowerCase());
      expect([a, b]).not.toContain('');
    }
    // To a model that sees contradictions everywhere, all but the token and its like are against it.
    const { ccp, 'ccp-rules': rules } = tokens;
    expect(ccp!.some((value, i) => value! > rules![i]! + 0.1)).toBe(true);
  });

  it('scores a response alike alone and beside others', async () => {
    const names = 'adversarial,ccp-rules,random:samples=2';
    const alone = await score(names);
    const together = await Promise.all([score(names), score(names), score('nll'), score(names)]);
    for (const i of [0, 1, 3]) {
      for (const [name, scores] of Object.entries(alone.tokens)) {
        expect(together[i]!.tokens[name]).toEqual(scores.map((value) => expect.closeTo(value!, 5)));
      }
    }
  });

  it('asks the models that are given', async () => {
    const folders = await Promise.all([
      writeTinyEncoder({ head: NLI_HEAD }),
      writeTinyEncoder({ head: SIMILARITY_HEAD }),
      writeTinyEncoder({ head: 'sentence' }),
    ]);
    const [nli, similarity, sentence] = folders;
    const encoders = await openEncoders({ nli: nli!, similarity: similarity!, sentence: sentence! });
    try {
      const { tokens, stepScores } = await score('ccp,token_sar,graph', encoders);
      for (const scores of [tokens.ccp!, tokens.token_sar!, stepScores.graph!]) {
        expect(new Set(scores).size).toBeGreaterThan(1);
      }
      const { steps, samples } = response;
      const texts = steps.map((range) =>
        response.tokenTexts
          .slice(...range)
          .join('')
          .trim(),
      );
      const all = [texts, ...samples.map(({ text }) => segmentText(text).map((step) => step.text.trim()))];
      const embeddings = await Promise.all(all.map((own) => encoders.embed!(own)));
      expect(stepScores.graph).toEqual(graphUncertainty(embeddings));
    } finally {
      await encoders.close();
      await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
    }
  });

  it('refuses a measure whose model is missing, or whose samples', async () => {
    await expect(score('ccp')).rejects.toThrow(/^ccp: needs a model, which was not given/);
    await expect(score('self_consistency')).rejects.toThrow(/needs 10 samples, but there are 4/);
  });

  it('waits for memory that others hold', async () => {
    const limited = await Engine.open(REASONER, { memoryLimit: 100e6 });
    try {
      const positions = response.promptIds.length + response.tokenIds.length;
      const held = [await limited.openSequence({ positions })];
      for (;;) {
        const more = await limited.openSequence({ positions }).catch(() => null);
        if (!more) break;
        held.push(more);
      }
      const scores = scoreMeasures(limited, response, parseMeasures('adversarial'), NO_ENCODERS);
      await setTimeout(100);
      for (const text of held) text.release();
      expect((await scores).tokens.adversarial).toHaveLength(response.tokenIds.length);
    } finally {
      await limited.close();
    }
  });

  it('times a measure, samples and all', async () => {
    const graph = await timeMeasure(engine, response, parseMeasure('graph-lexical:samples=2'), NO_ENCODERS);
    expect(graph).toBeGreaterThan(120);
    expect(graph).toBeLessThan(123);
    const nll = await timeMeasure(engine, response, parseMeasure('nll'), NO_ENCODERS);
    expect(nll).toBeGreaterThan(0);
    expect(nll).toBeLessThan(60);
  });

  it('has nothing to say of an empty response', async () => {
    const empty = { ...response, tokenIds: [], tokenTexts: [], steps: [] };
    const measures = parseMeasures('adversarial,ccp-rules,token_sar-lexical,graph-lexical');
    const scores = await scoreMeasures(engine, empty, measures, NO_ENCODERS);
    expect(scores.tokens.adversarial).toEqual([]);
    expect(scores.stepScores['graph-lexical']).toEqual([]);
    expect(scores.response['ccp-rules']).toBe(0);
  });
});

describe('tokenSarScores', () => {
  const text = {
    question: 'Q?',
    tokenTexts: ['2', ' is', '.\n', ' 3', ' 4', ''],
    steps: [
      [0, 3],
      [3, 6],
    ] as const,
  };
  const logprobs = [-1, -2, -3, -4, -5, -6];

  /** As alike as the share of characters that are left. */
  const compare = async (pairs: readonly TextPair[]) => pairs.map(([a, b]) => b.length / a.length);

  it('judges a token by what its step loses without it, behind the question', async () => {
    const asked: TextPair[] = [];
    const remember = async (pairs: readonly TextPair[]) => {
      asked.push(...pairs);
      return compare(pairs);
    };
    const { tokens, steps, response } = await tokenSarScores(text, logprobs, 'alone', remember);
    expect(asked.slice(5, 7)).toEqual([
      ['Q? 2 is.\n', 'Q?  is.\n'],
      ['Q? 2 is.\n', 'Q? 2.\n'],
    ]);
    // Lost: 1, 3, 2 of 9 characters; 2, 2, 0 of 7.
    expect(steps![0]).toBeCloseTo((1 * 1 + 2 * 3 + 3 * 2) / 6, 10);
    expect(steps![1]).toBeCloseTo((4 * 2 + 5 * 2) / 4, 10);
    const relevance = [1 / 9, 3 / 9, 2 / 9, 2 / 7, 2 / 7, 0];
    const total = relevance.reduce((a, b) => a + b);
    const expected = relevance.map((r, i) => (-logprobs[i]! * r) / total);
    expect(tokens).toEqual(expected.map((e) => expect.closeTo(e, 10)));
    // The response's own is by the whole of it, whatever its steps are.
    expect(asked[0]).toEqual(['Q? 2 is.\n 3 4', 'Q?  is.\n 3 4']);
    expect(response).toBeCloseTo((1 + 6 + 6 + 8 + 10) / 10, 10);
  });

  it('gives steps their share of the score of the whole response instead', async () => {
    const { steps, response } = await tokenSarScores(text, logprobs, 'share', compare);
    expect(steps![0]).toBeCloseTo((1 * 1 + 2 * 3 + 3 * 2) / 10, 10);
    expect(response).toBeCloseTo((1 + 6 + 6 + 8 + 10) / 10, 10);
    expect(steps![0]! + steps![1]!).toBeCloseTo(response!, 10);
  });

  it('takes half of the meaning to go with the only token of a step', async () => {
    const one = { question: 'Q?', tokenTexts: ['7'], steps: [[0, 1]] as const };
    const never = async () => {
      throw new Error('asked');
    };
    const { steps } = await tokenSarScores(one, [-2], 'alone', async (pairs) =>
      pairs.length === 0 ? [] : never(),
    );
    expect(steps).toEqual([2]);
  });
});
