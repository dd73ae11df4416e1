import { z } from 'zod';
import { UsageError } from '../src/files/errors.js';
import { parseJsonLines, parseJsonText } from '../src/files/json-text.js';

/** Label of an answer. */
export interface Label {
  /** Id of the answer, or of its span. */
  readonly id: string;
  /** Name of the question; `null` if the file does not say. */
  readonly name: string | null;
  readonly right: boolean;
}

/** An answer as flinch recorded it. */
export interface RecordedAnswer {
  readonly ids: readonly string[];
  readonly flagged: boolean | null;
  readonly risk: number | null;
}

const WORDS: Readonly<Record<string, boolean>> = {
  right: true,
  correct: true,
  true: true,
  pass: true,
  yes: true,
  '1': true,
  wrong: false,
  incorrect: false,
  false: false,
  fail: false,
  no: false,
  '0': false,
};

/** Whether a label says that an answer is right. */
const meaning = z
  .union([z.string(), z.number(), z.boolean()], { error: 'must be a label' })
  .transform((label, context) => {
    const right = WORDS[String(label).toLowerCase()];
    if (right !== undefined) return right;
    const known = Object.keys(WORDS).join(', ');
    context.addIssue({ code: 'custom', message: `${JSON.stringify(label)} is none of ${known}` });
    return z.NEVER;
  });

const ownLabel = z
  .object({ id: z.string(), label: meaning, name: z.string().optional() })
  .transform(({ id, label, name = null }): Label => ({ id, name, right: label }));

/** Phoenix: `GET /v1/projects/{project}/span_annotations`. */
const annotation = z
  .object({
    span_id: z.string(),
    name: z.string(),
    result: z
      .object({ label: z.string().nullish(), score: z.number().nullish() })
      .transform(({ label, score }): string | number | boolean => label ?? score ?? '')
      .pipe(meaning),
  })
  .transform(({ span_id: id, name, result }): Label => ({ id, name, right: result }));

/** Phoenix: `GET /v1/projects/{project}/spans`. Others than flinch's are left out. */
const span = z
  .object({
    context: z.object({ span_id: z.string() }),
    attributes: z.looseObject({
      'gen_ai.response.id': z.string().optional(),
      'flinch.verdict': z.enum(['flagged', 'passed', 'unscored']).optional(),
      'flinch.risk': z.number().optional(),
    }),
  })
  .transform(({ context, attributes }): RecordedAnswer[] => {
    const verdict = attributes['flinch.verdict'];
    const id = attributes['gen_ai.response.id'];
    if (verdict === undefined || id === undefined) return [];
    const flagged = verdict === 'unscored' ? null : verdict === 'flagged';
    return [{ ids: [context.span_id, id], flagged, risk: attributes['flinch.risk'] ?? null }];
  });

/** Messages to webhooks; other messages than verdicts are left out. */
const message = z.union([
  z.object({ type: z.literal('flag') }).transform((): RecordedAnswer[] => []),
  z
    .object({
      type: z.literal('verdict'),
      data: z.object({
        response_id: z.string(),
        verdict: z.object({ flagged: z.boolean().nullable(), risk: z.number().nullable() }).nullable(),
      }),
    })
    .transform(({ data: { response_id: id, verdict } }): RecordedAnswer[] => [
      { ids: [id], flagged: verdict?.flagged ?? null, risk: verdict?.risk ?? null },
    ]),
]);

/** @throws UsageError that names file and field */
export const readLabels = (text: string, file: string): Label[] =>
  readItems(text, file, (item) => ('span_id' in item ? annotation : ownLabel));

/** @throws UsageError that names file and field */
export const readAnswers = (text: string, file: string): RecordedAnswer[] =>
  readItems<RecordedAnswer[]>(text, file, (item) => ('context' in item ? span : message)).flat();

const anyItem = z.record(z.string(), z.unknown());
const anyItems = z.union([
  z.array(anyItem),
  z.object({ data: z.array(anyItem) }).transform(({ data }) => data),
]);

/** A list in JSON, alone or as the answer of an API, or JSON Lines. */
function readItems<T>(
  text: string,
  file: string,
  schemaOf: (item: Readonly<Record<string, unknown>>) => z.ZodType<T>,
): T[] {
  const isLines = /^\s*\{.*\}\s*(\n|$)/.test(text) && !/^\s*\{\s*"data"\s*:\s*\[/.test(text);
  const items = isLines ? parseJsonLines(text, anyItem) : parseJsonText(text, anyItems, file);
  return items.map((item, i) => {
    const result = schemaOf(item).safeParse(item);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const field = issue?.path.length ? `${z.core.toDotPath(issue.path)}: ` : '';
    throw new UsageError(`${file}: item ${i + 1}: ${field}${issue?.message}`);
  });
}
