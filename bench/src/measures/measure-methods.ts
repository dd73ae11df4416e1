import {
  checkScoring,
  type Method,
  PROBABILITY_METHODS,
  parseScale,
  type Scale,
  type Schedule,
} from 'flinch';
import {
  DEFAULT_ALPHA,
  DEFAULT_BLOCK,
  DEFAULT_RANDOM,
  DEFAULT_TOKUR,
  DEFAULT_WINDOW,
  MAX_SAMPLES,
  MAX_TOKUR_SAMPLES,
  MAX_TOP,
  TOKUR_METHODS,
} from 'flinch/internals';
import { z } from 'zod';
import { type MeasureKind, type PassNeeds, STEP_RELEVANCE } from './measure.js';

/** A method: what it can be told, as text, and the measure that comes of it. */
export interface Definition {
  readonly keys: readonly string[];
  /**
   * @returns the measure, and its settings as text: those that are not the default, in the order of `keys`
   * @throws z.ZodError; SettingsError
   */
  read(given: Readonly<Record<string, string>>): { readonly settings: string; readonly measure: MeasureKind };
}

function define<S extends z.ZodObject>(schema: S, make: (settings: z.output<S>) => MeasureKind): Definition {
  const keys = Object.keys(schema.shape);
  const defaults = print(schema.parse({}));
  return {
    keys,
    read(given) {
      const parsed = schema.parse(given);
      const printed = print(parsed);
      const settings = keys.filter((key) => printed.get(key) !== defaults.get(key));
      return { settings: settings.map((key) => `${key}=${printed.get(key)}`).join(), measure: make(parsed) };
    },
  };
}

/** Settings in the spelling of a measure's name. */
const print = (settings: Readonly<Record<string, unknown>>): Map<string, string> =>
  new Map(
    Object.entries(settings).map(([key, value]) => [
      key,
      typeof value === 'object' && value !== null && 'rms' in value ? `${value.rms}rms` : String(value),
    ]),
  );

const number = z
  .string()
  .refine((text) => text !== '' && Number.isFinite(Number(text)), 'must be a number')
  .transform(Number);
const whole = (from: number, to: number) =>
  z
    .string()
    .transform(Number)
    .refine(
      (value) => Number.isInteger(value) && value >= from && value <= to,
      `must be a whole number from ${from} to ${to}`,
    );
const scale = z.string().transform((text, context): Scale => {
  const size = parseScale(text);
  if (size !== null) return size;
  context.addIssue({ code: 'custom', message: 'must be a number, or a multiple of the RMS such as 0.01rms' });
  return z.NEVER;
});
const stepRelevance = z.enum(STEP_RELEVANCE, { error: `must be one of ${STEP_RELEVANCE.join(', ')}` });

const block = whole(1, 65536);
const window = z.string().transform((text, context): number | 'all' => {
  const size = block.safeParse(text);
  if (text === 'all' || size.success) return size.data ?? 'all';
  context.addIssue({ code: 'custom', message: 'must be a whole number, or all' });
  return z.NEVER;
});
const seed = whole(0, 2 ** 31 - 1).default(0);

const adversarial = define(
  z.strictObject({
    block: block.optional(),
    window: window.optional(),
    alpha: scale.default(DEFAULT_ALPHA),
  }),
  ({ alpha, ...schedule }) => engine('adversarial', { adversary: { schedule: scheduleOf(schedule), alpha } }),
);

const random = define(
  z.strictObject({
    samples: whole(2, MAX_SAMPLES).default(DEFAULT_RANDOM.samples),
    sigma: scale.default(DEFAULT_RANDOM.sigma),
    seed,
  }),
  (random) => engine('random', { random }),
);

const tokur = (method: Method): Definition =>
  define(
    z.strictObject({
      samples: whole(2, MAX_TOKUR_SAMPLES).default(DEFAULT_TOKUR.samples),
      sigma: number.default(DEFAULT_TOKUR.sigma),
      seed,
    }),
    (tokur) => engine(method, { tokur }),
  );

const entropy = define(z.strictObject({ top: whole(2, MAX_TOP).optional() }), ({ top }) =>
  top === undefined ? engine('entropy', {}) : { kind: 'top_entropy', top },
);

const tokenSar = (light: boolean): Definition =>
  define(z.strictObject({ steps: stepRelevance.default('alone') }), ({ steps }) => ({
    kind: 'token_sar',
    light,
    steps,
  }));

const graph = (light: boolean): Definition =>
  define(
    z.strictObject({
      samples: whole(1, 64).default(4),
      clusters: number.refine((value) => value > 0, 'must be more than 0').default(1),
      seed,
    }),
    (settings) => ({ kind: 'graph', light, ...settings }),
  );

const sampled = (kind: 'claim_graph' | 'self_consistency', samples: number): Definition =>
  define(z.strictObject({ samples: whole(1, 64).default(samples) }), (settings) => ({ kind, ...settings }));

const plain = (measure: MeasureKind): Definition => define(z.strictObject({}), () => measure);

/** Every method by its name, in the order in which help lists them. */
export const METHODS: ReadonlyMap<string, Definition> = new Map([
  ['adversarial', adversarial],
  ['random', random],
  ...TOKUR_METHODS.map((method) => [method, tokur(method)] as const),
  ...PROBABILITY_METHODS.map((method) => [method, plain(engine(method, {}))] as const),
  ['entropy', entropy],
  ['ccp', plain({ kind: 'ccp', light: false })],
  ['ccp-rules', plain({ kind: 'ccp', light: true })],
  ['token_sar', tokenSar(false)],
  ['token_sar-lexical', tokenSar(true)],
  ['graph', graph(false)],
  ['graph-lexical', graph(true)],
  ['graph-claims', sampled('claim_graph', 4)],
  ['self_consistency', sampled('self_consistency', 10)],
]);

/** Offline unless a part of a streaming schedule is named. */
function scheduleOf(given: {
  readonly block?: number | undefined;
  readonly window?: number | 'all' | undefined;
}): Schedule {
  const { block = DEFAULT_BLOCK, window = Math.max(DEFAULT_WINDOW, block) } = given;
  if ([given.block, given.window].every((part) => part === undefined)) return { kind: 'offline' };
  return { kind: 'windowed', block, window };
}

/** @throws SettingsError for settings under which no score would mean anything */
function engine(method: Method, needs: PassNeeds): MeasureKind {
  const { adversary = { schedule: { kind: 'offline' }, alpha: DEFAULT_ALPHA }, random, tokur } = needs;
  checkScoring({
    methods: [method],
    ...adversary,
    ...(random && { random }),
    ...(tokur && { tokur }),
  });
  return { kind: 'engine', method, needs };
}
