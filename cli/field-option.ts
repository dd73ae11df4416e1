import { InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { camelCase, type GuardFieldName, guardFields } from '../src/guard/guard-fields.js';

const jsonSchema = z.object({ description: z.string(), enum: z.array(z.string()).optional() });

/**
 * The option for a field of the guard: `max_rollbacks` is `--max-rollbacks`. Description, choices, range and default are
 * the schema's.
 * @param placeholder of the value, such as `<number>`; `null` for a switch
 * @param defaultWords in place of the schema's, for a default that depends on the command; `null` for none
 */
export function fieldOption(
  name: GuardFieldName,
  placeholder: string | null,
  defaultWords?: string | null,
): Option {
  const field: z.ZodType = guardFields[name];
  const { description, enum: choices } = jsonSchemaOf(field);
  const value = field.parse(undefined);
  const flag = `--${name.replaceAll('_', '-')}`;
  // Commander itself adds a default that is set.
  const meaning = withDefault(asHelp(description), value === undefined ? defaultWords : null);
  if (placeholder === null) return new Option(flag, meaning);
  const option = new Option(`${flag} ${placeholder}`, meaning);
  if (choices) option.choices(choices);
  else option.argParser((text) => checked(field, text));
  if (value === undefined) return option;
  return typeof value === 'string' && !choices
    ? option.default(value, JSON.stringify(value))
    : option.default(value);
}

const jsonSchemaOf = (field: z.ZodType) =>
  jsonSchema.parse(z.toJSONSchema(field, { io: 'input', unrepresentable: 'any' }));

/** The description of a field with its default, as `--help` has those of options. */
export function helpOf(field: z.ZodType): string {
  const meaning = asHelp(jsonSchemaOf(field).description);
  const value: unknown = field.parse(undefined);
  return value === undefined || meaning.includes('(default: ') ? meaning : `${meaning} (default: ${value})`;
}

function withDefault(meaning: string, words: string | null | undefined): string {
  if (words === undefined) return meaning;
  return meaning.replace(/ \(default: .+\)$/, '') + (words === null ? '' : ` (default: ${words})`);
}

/**
 * The value as a request would have it: a text, a truth value or a number.
 * @throws InvalidArgumentError
 */
export function checked(field: z.ZodType, text: string): unknown {
  if (field.safeParse(text).success) return text;
  if (field.safeParse(true).success && (text === 'true' || text === 'false')) return text === 'true';
  const number = text.trim() === '' ? Number.NaN : Number(text);
  const [issue] = field.safeParse(number).error?.issues ?? [];
  if (!issue) return number;
  throw new InvalidArgumentError(`${issue.message[0]?.toUpperCase()}${issue.message.slice(1)}.`);
}

/** `--help` has no Markdown, and no capital and full stop around a line. */
function asHelp(description: string): string {
  const plain = description.replaceAll('`', '').replace(/\.$/, '');
  return plain.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
}

/** The options that are fields of the guard, by the fields' names; others are left out. */
export function fieldsOf(options: object): Readonly<Record<string, unknown>> {
  const values = new Map<string, unknown>(Object.entries(options));
  return Object.fromEntries(Object.keys(guardFields).map((name) => [name, values.get(camelCase(name))]));
}
