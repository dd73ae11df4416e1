import { z } from 'zod';
import { upTo } from '../../src/files/limited-list.js';
import { DEFAULT_GUARD } from '../../src/guard/guard.js';
import { type CompleteGuardFields, type GuardFields, guardFields } from '../../src/guard/guard-fields.js';
import { DEFAULT_METHODS, METHODS, type Method } from '../../src/uncertainty/method-names.js';
import {
  integer,
  method,
  methods,
  scoringFields,
  scoringSchema,
  withWindow,
} from '../../src/uncertainty/scoring-fields.js';
import { DEFAULT_BLOCK } from '../../src/uncertainty/settings.js';
import { ApiError } from '../errors/api-error.js';

const described = <Schema extends z.ZodType>(name: keyof typeof guardFields, schema: Schema): Schema =>
  schema.describe(guardFields[name].description ?? '');

/** Settings of scores that a request cannot change: they are for research, with the library and the benchmark. */
const RESEARCH = scoringSchema.parse({});
const { window, alpha } = scoringFields;
const block = integer(1, 64)
  .default(DEFAULT_BLOCK)
  .describe(scoringFields.block.description ?? '');

/** The guard of a request: its fields, with narrower ranges where a client decides what the server spends. */
export const guardSchema = z.strictObject({
  ...guardFields,
  methods: described('methods', z.preprocess(upTo(METHODS.length, method), methods).optional()),
  scoring: described(
    'scoring',
    z
      .strictObject({ block, window, alpha })
      .transform((fields) => withWindow({ ...RESEARCH, ...fields, window: fields.window }))
      .prefault({}),
  ),
});

/** The guard as a client or an operator writes it: a field that is left out is not there. */
export type AskedGuard = z.input<typeof guardSchema>;

const isGuard = (value: unknown, { issues }: Pick<z.core.$RefinementCtx, 'issues'>): value is AskedGuard => {
  const { error } = guardSchema.safeParse(value);
  for (const issue of error?.issues ?? []) {
    const { path, message } = issue;
    if (issue.code === 'unrecognized_keys') issues.push({ ...issue, input: issue.input ?? {} });
    else issues.push({ code: 'custom', path, message, input: value });
  }
  return error === undefined;
};

/** Checks the fields as {@link guardSchema} does, but keeps them as they were written: which were set matters. */
export const askedGuardSchema = z
  .unknown()
  .transform((value, context) => (isGuard(value, context) ? value : z.NEVER))
  .meta({ ...z.toJSONSchema(guardSchema, { io: 'input', unrepresentable: 'any' }), $schema: undefined });

/**
 * Fills in the methods: by default {@link DEFAULT_METHODS}, and the method by which steps are to be judged.
 * Steps are judged by `judge` if it is one of them, otherwise by the first, unless `method` says otherwise.
 * @param available methods that can be computed for the model
 * @param judge the method that the model's calibration names
 * @throws ApiError 400 that names the field
 */
export function completeGuard(
  fields: GuardFields,
  available: readonly Method[],
  judge: Method = DEFAULT_GUARD.method,
): CompleteGuardFields {
  const usual: readonly Method[] = DEFAULT_METHODS.filter((method) => available.includes(method));
  const asked = fields.method ?? (available.includes(judge) ? judge : null);
  const { methods = [...new Set([...usual, ...(asked ? [asked] : [])])] } = fields;
  const missing = methods.find((method) => !available.includes(method));
  if (missing !== undefined) {
    const field = fields.methods ? 'guard.methods' : 'guard.method';
    throw invalid(field, `${missing} needs a scorer, which this model does not have`);
  }
  const { method = usualJudge(methods, judge) ?? DEFAULT_GUARD.method } = fields;
  if (!methods.includes(method)) throw invalid('guard.method', 'is not among guard.methods');
  return { ...fields, methods: [...methods], method };
}

/** The method that judges where a request names none; `null` if there are no methods. */
export const usualJudge = (methods: readonly Method[], judge: Method = DEFAULT_GUARD.method): Method | null =>
  [judge, DEFAULT_GUARD.method].find((usual) => methods.includes(usual)) ?? methods[0] ?? null;

const invalid = (param: string, problem: string): ApiError =>
  new ApiError('invalid_value', `${param}: ${problem}`, param);
