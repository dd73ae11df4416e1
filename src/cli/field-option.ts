import { InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { type GuardFieldName, guardFields } from '../stream/guard-fields.js';

const jsonSchema = z.object({ description: z.string(), enum: z.array(z.string()).optional() });
const DEFAULT_WORDS = / \(default: .+\)$/;

/**
 * The option for a field of the guard: `rollback_to` is `--rollback-to`. Description, choices, range and default are
 * the schema's.
 * @param placeholder of the value, such as `<number>`; `null` for a switch
 * @param defaultWords in place of the schema's words for a default that it does not set; `null` for none
 */
export function fieldOption(
  name: GuardFieldName,
  placeholder: string | null,
  defaultWords?: string | null,
): Option {
  const field: z.ZodType = guardFields[name];
  const { description, enum: choices } = jsonSchema.parse(
    z.toJSONSchema(field, { io: 'input', unrepresentable: 'any' }),
  );
  const value = field.parse(undefined);
  const flag = `--${name.replaceAll('_', '-')}`;
  const words = asHelp(description);
  const sentence = words.replace(DEFAULT_WORDS, '');
  if (placeholder === null) return new Option(flag, sentence);
  const flags = `${flag} ${placeholder}`;
  if (value === undefined) {
    const said = defaultWords ? `${sentence} (default: ${defaultWords})` : sentence;
    return restrict(new Option(flags, defaultWords === undefined ? words : said), field, choices);
  }
  const option = restrict(new Option(flags, sentence), field, choices);
  return typeof value === 'string' && !choices
    ? option.default(value, JSON.stringify(value))
    : option.default(value);
}

const restrict = (option: Option, field: z.ZodType, choices: readonly string[] | undefined): Option =>
  choices ? option.choices(choices) : option.argParser((text) => checked(field, text));

/** The value as a request would have it: a text, or a number. */
function checked(field: z.ZodType, text: string): unknown {
  if (field.safeParse(text).success) return text;
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
  const camelCase = (name: string): string =>
    name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.keys(guardFields).map((name) => [name, values.get(camelCase(name))]));
}
