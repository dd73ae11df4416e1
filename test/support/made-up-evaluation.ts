import { type Evaluation, evaluationSchema } from '#bench/records/evaluation.js';
import type { ListedAnswer } from '#bench/report/answers-page.js';
import { HOSTILE } from './hostile.js';

type Estimate = { value: number | null; interval: [number, number] | null };

/** Around a value as Wald's interval would be. */
export function estimate(value: number, n = 200): Estimate {
  const half = 1.96 * Math.sqrt((value * (1 - value)) / n);
  return { value, interval: [Math.max(0, value - half), Math.min(1, value + half)] };
}

const MEASURES = {
  nll: 0.34,
  entropy: 0.36,
  margin: 0.41,
  tokur_eu: 0.4,
  random: 0.43,
  adversarial: 0.45,
} as const;
const ABLATED = {
  'random:samples=10': 0.41,
  'random:samples=40': 0.435,
  'random:sigma=1e-2': 0.39,
  'adversarial:alpha=1e-3': 0.44,
  'adversarial:alpha=1e-5': 0.43,
  'adversarial:block=4,window=64': 0.42,
  'adversarial:block=8,window=64': 0.44,
  'adversarial:block=16,window=64': 0.445,
} as const;
const STEPS = { ccp: 0.21, token_sar: 0.24, graph: 0.17, random: 0.35, adversarial: 0.37 } as const;

/** An evaluation as a run writes it, with numbers that were not measured; any part may be replaced. */
export function madeUpEvaluation(parts: Partial<Evaluation> = {}): Evaluation {
  const scopes = ['all', 'macro', 'arithmetic', 'navigate'];
  const rows = <T>(
    of: Readonly<Record<string, number>>,
    row: (scope: string, name: string, value: number) => T,
  ) =>
    scopes.flatMap((scope, i) =>
      Object.entries(of).map(([name, value]) => row(scope, name, value - 0.01 * i)),
    );
  const n = (scope: string): number => (scope === 'all' || scope === 'macro' ? 200 : 100);
  const base = {
    suite: 'tasks',
    model: { name: 'reasoner', fingerprint: 'f00d', parameters: 2_500_000, embeddingRms: 0.02 },
    temperature: 0.2,
    settings: { limit: 1000, answers: { rule: 'last' }, encoders: { nli: null } },
    command: 'flinch bench run --suite tasks --temperature 0.2 --out runs/tasks',
    machine: { cpu: 'a processor', cores: 2, node: 'v20.20.2' },
    counts: scopes
      .filter((scope) => scope !== 'macro')
      .map((scope) => ({
        scope,
        problems: 5 * n(scope),
        truncated: 3,
        correct: 4 * n(scope) - 3,
        wrong: n(scope),
        unsure: 0,
        kinds: {},
        located: n(scope) - 5,
        rejected: { none_named: 2, no_match: 3 },
        spanning: 4,
        accuracy: estimate(0.8, 5 * n(scope)),
      })),
    tokens: rows({ ...MEASURES, ...ABLATED, chance: 0.2 }, (scope, measure, value) => ({
      scope,
      measure,
      n: n(scope),
      top3: estimate(value, n(scope)),
      top5: estimate(value + 0.1, n(scope)),
      top1pct: estimate(value + 0.05, n(scope)),
      top1pctFloor: estimate(value, n(scope)),
      top1pctRound: estimate(value + 0.02, n(scope)),
      innerTop3: estimate(value + 0.01, n(scope)),
      innerTop5: estimate(value + 0.11, n(scope)),
      innerTop1pct: estimate(value + 0.06, n(scope)),
    })),
    steps: rows({ ...STEPS, nll: 0.3, chance: 0.15, longest: 0.33 }, (scope, measure, value) => ({
      scope,
      measure,
      aggregation:
        (measure in STEPS && !(measure in MEASURES)) || measure === 'longest' || measure === 'chance'
          ? 'own'
          : 'sum',
      n: n(scope),
      top1: estimate(value, n(scope)),
      top2: estimate(value + 0.15, n(scope)),
      top3: estimate(value + 0.25, n(scope)),
    })),
    responses: rows(
      { nll: 0.75, tokur_eu: 0.7, self_consistency: 0.9, adversarial: 0.72 },
      (scope, measure, value) => ({
        scope,
        measure,
        aggregation: measure === 'self_consistency' ? 'own' : 'sum',
        n: 5 * n(scope),
        positives: n(scope),
        auroc: estimate(value),
        averagePrecision: estimate(value - 0.3),
        prr: estimate(value - 0.2),
      }),
    ),
    answers: madeUpAnswers(),
    claimCounts: [],
    singleStep: false,
    claims: rows({ nll: 0.6, ccp: 0.65, adversarial: 0.7 }, (scope, measure, value) => ({
      scope,
      measure,
      aggregation: measure === 'ccp' ? 'own' : 'sum',
      n: n(scope),
      positives: 40,
      auroc: estimate(value),
      averagePrecision: estimate(value - 0.1),
    })),
    pooled: rows({ nll: 0.7, adversarial: 0.8 }, (scope, measure, value) => ({
      scope,
      measure,
      aggregation: 'max',
      steps: 3000,
      positives: n(scope),
      auroc: estimate(value),
      averagePrecision: estimate(value - 0.5),
    })),
    paired: Object.keys(MEASURES)
      .filter((measure) => measure !== 'adversarial')
      .map((b, i) => ({
        level: 'token',
        metric: 'top3',
        aggregation: null,
        a: 'adversarial',
        b,
        n: 200,
        difference: { value: 0.1 - 0.02 * i, interval: [0.04 - 0.02 * i, 0.16 - 0.02 * i] },
        test: 'mcnemar',
        p: 0.004 * (i + 1) ** 2,
        adjusted: Math.min(1, 0.02 * (i + 1)),
        tests: 5,
      })),
    efficiency: Object.keys(MEASURES).map((measure, i) => ({
      measure,
      n: 40,
      seconds: { value: 0.05 * (i + 1), interval: [0.045 * (i + 1), 0.055 * (i + 1)] },
      relative: { value: 0.1 * (i + 1), interval: [0.09 * (i + 1), 0.11 * (i + 1)] },
      memory: 1e6 * (i + 1),
    })),
  };
  return evaluationSchema.parse({ ...base, ...parts });
}

/** Of the best of the made-up table. */
const madeUpAnswers = (): NonNullable<Evaluation['answers']> => ({
  n: 1000,
  wrong: 200,
  best: { measure: 'self_consistency', aggregation: 'own', of: 4 },
  reading: { share: 0.2, read: 200, found: { value: 120, interval: [110, 130] }, chance: 40 },
});

const TOKEN_TEXTS =
  'First,| 12| +| 30| =| 42|.|\n|Then| 42| -| 5| =| 38|.|\n|So| the| answer| is| 38|.'.split('|');

/** “Then 42 - 5 = 38.” is its first wrong step. */
export const MADE_UP_ANSWER: ListedAnswer = {
  id: 'arithmetic-17',
  group: 'arithmetic',
  question: 'What is 12 + 30 - 5?',
  reference: '37',
  extracted: '38',
  correct: false,
  by: 'rules',
  texts: TOKEN_TEXTS,
  wrong: [8, 15],
  scores: TOKEN_TEXTS.map((_, i) =>
    i === 3 ? null : i === 13 ? 0.04 : i === 5 ? 0.01 : 0.0001 * ((i * 7) % 11),
  ),
  score: 0.1,
};

/** An answer whose texts are all hostile. */
export function hostileAnswer(): ListedAnswer {
  const all = HOSTILE.join(' ');
  const texts = HOSTILE.flatMap((text) => [text, ' ', '\n']);
  return {
    ...MADE_UP_ANSWER,
    ...{ id: all, group: all, question: all, reference: all, extracted: all },
    texts,
    wrong: [0, 9],
    scores: texts.map((_, i) => i % 7),
  };
}

/** Hostile texts wherever a text of a model, a file or a user may stand. */
export function hostileEvaluation(): Evaluation {
  const all = HOSTILE.join(' ');
  const rename = <T extends { scope: string }>(rows: readonly T[]): T[] =>
    rows.map((row) => (row.scope === 'navigate' ? { ...row, scope: HOSTILE[0]! } : row));
  const base = madeUpEvaluation();
  const best = { measure: HOSTILE[1]!, aggregation: 'max' as const, of: 2 };
  return madeUpEvaluation({
    answers: { ...base.answers!, best },
    model: { ...base.model, name: HOSTILE[1]! },
    command: all,
    settings: { [HOSTILE[2]!]: [all], nested: { [HOSTILE[3]!]: null } },
    machine: { ...base.machine, cpu: all },
    counts: rename(base.counts).map((count) => ({ ...count, rejected: { [HOSTILE[0]!]: 1 } })),
    tokens: rename(base.tokens).map((row) =>
      row.measure === 'chance' ? { ...row, measure: HOSTILE[8]! } : row,
    ),
    efficiency: base.efficiency.map((row) => ({ ...row, measure: `${HOSTILE[1]}:${HOSTILE[2]}` })),
  });
}
