import { type Method, readText } from 'flinch-client/protocol';
import * as z from 'zod/mini';
import { isMethod } from '../words.js';

const field = z.union([z.string(), z.number(), z.boolean()]);
const calibration = z.object({ running: z.boolean(), collected: z.number(), planned: z.number() });
const about = z.object({
  embedded: z.boolean(),
  single_turn: z.boolean(),
  methods: z.nullable(z.array(z.string())),
  method: z.nullable(z.string()),
  top_logprobs: z.nullable(z.number()),
  problem: z.nullable(z.string()),
  calibration: z.nullable(calibration),
  escalates_to: z.nullable(z.string()),
  policy: z.nullable(
    z.object({
      name: z.string(),
      defaults: z.record(z.string(), z.unknown()),
      locked: z.record(z.string(), z.string()),
    }),
  ),
});
/** A model takes some hundred bytes, and its policy as much. */
const MOST_BYTES = 1 << 22;
const MOST_MODELS = 5000;
const list = z.object({
  data: z.pipe(
    // The length is checked before the items, because zod keeps an issue for each wrong item.
    z.custom<unknown>((data) => !Array.isArray(data) || data.length <= MOST_MODELS),
    z.array(z.object({ id: z.string(), flinch: z.optional(z.partial(about)) })).check(z.minLength(1)),
  ),
});

/** The operator's policy of the guard for a model. */
export interface PolicyView {
  readonly name: string;
  /** Values of fields that the policy sets. */
  readonly defaults: Readonly<Record<string, string | number | boolean>>;
  /** Locked fields, with the names of the policies that lock them. */
  readonly locked: Readonly<Record<string, string>>;
}

/** A calibration that is made while no request runs: how far it is. */
export type Calibration = z.output<typeof calibration>;

export interface Model {
  readonly id: string;
  /** Whether it is the one that comes with flinch. */
  readonly embedded: boolean;
  /** Whether it knows single questions only, and is not told earlier ones. */
  readonly singleTurn: boolean;
  /** Scores that it has; `null` where that is not known yet. */
  readonly methods: readonly Method[] | null;
  /** The one that judges by default; `null` where there is none, or that is not known yet. */
  readonly method: Method | null;
  /** Most alternatives of a token that it tells; `null` where that is not known yet. */
  readonly topLogprobs: number | null;
  /** Why it takes no questions now; `null` if it does. */
  readonly problem: string | null;
  /** The one that it lacked at the server's start, or that is unfinished, and can be made here; `null` if there is none. */
  readonly calibration: Calibration | null;
  /** The model that answers in place of a flagged answer, with the action `escalate`; `null` if there is none. */
  readonly escalatesTo: string | null;
  readonly policy: PolicyView | null;
}

/** The server wants a key, or another one. */
export class KeyNeeded extends Error {
  override readonly name = 'KeyNeeded';
}

/**
 * The models on offer.
 * @throws KeyNeeded
 * @throws Error in words that can be shown
 */
export async function listModels(url: URL, key: string | null): Promise<Model[]> {
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
  let response: Response;
  try {
    response = await fetch(url, { headers: { accept: 'application/json', ...authorization } });
  } catch {
    throw new Error('The list of models could not be read: the server does not answer.');
  }
  if (response.status === 401) throw new KeyNeeded('The server asks for an API key.');
  if (!response.ok) throw new Error(`The list of models could not be read: status ${response.status}.`);
  const body = list.safeParse(await readJson(response).catch(() => null));
  if (!body.success) throw new Error('The server offers no model.');
  return body.data.data.map(({ id, flinch = {} }) => ({
    id,
    embedded: flinch.embedded ?? false,
    singleTurn: flinch.single_turn ?? false,
    methods: flinch.methods?.filter(isMethod) ?? null,
    method: flinch.method && isMethod(flinch.method) ? flinch.method : null,
    topLogprobs: flinch.top_logprobs ?? null,
    problem: flinch.problem ?? null,
    calibration: flinch.calibration ?? null,
    escalatesTo: flinch.escalates_to ?? null,
    policy: flinch.policy ? { ...flinch.policy, defaults: plain(flinch.policy.defaults) } : null,
  }));
}

/**
 * Has a model calibrated while no request runs.
 * @param models address of the list of models
 * @throws Error in words that can be shown
 */
export async function calibrate(models: URL, model: string, key: string | null): Promise<void> {
  const url = new URL(`${models.pathname}/${encodeURIComponent(model)}/calibration`, models);
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(url, { method: 'POST', headers: authorization }).catch(() => null);
  if (response?.ok) return;
  const why = response ? `status ${response.status}` : 'the server does not answer';
  throw new Error(`The model cannot be calibrated: ${why}.`);
}

/** The values that a form shows. */
const plain = (defaults: Readonly<Record<string, unknown>>): PolicyView['defaults'] =>
  Object.fromEntries(
    Object.entries(defaults).flatMap(([name, value]) => {
      const { success, data } = field.safeParse(value);
      return success ? [[name, data] as const] : [];
    }),
  );

const readJson = async ({ body }: Response): Promise<unknown> => JSON.parse(await readText(body, MOST_BYTES));
