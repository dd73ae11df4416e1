import { textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { checkLength, joinTexts, repeatText } from './limits.js';
import { Dict, isList, Safe, Tuple, typeName, Undefined, type Value, View } from './values.js';

/** Python writes no longer number. */
const MOST_DIGITS = 4300;

/** The text that Python makes of a value (`str`), which is what Jinja prints; nothing of what is not defined. */
export function pythonText(value: Value): string {
  if (value instanceof Undefined) return '';
  if (value instanceof Safe) return value.text;
  return typeof value === 'string' ? value : pythonRepr(value);
}

/** Python's `repr`. */
function pythonRepr(value: Value): string {
  const list = (items: readonly Value[]): string => items.map(pythonRepr).join(', ');
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return floatText(value);
  if (typeof value === 'bigint') return intText(value);
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Safe) return `Markup(${quoted(value.text)})`;
  if (value instanceof Tuple) return `(${list(value.items)}${value.items.length === 1 ? ',' : ''})`;
  if (value instanceof View) return `dict_${value.kind}([${list(value.items)}])`;
  if (value instanceof Dict) {
    const fields = value.entries.map(([key, each]) => `${pythonRepr(key)}: ${pythonRepr(each)}`);
    return `{${fields.join(', ')}}`;
  }
  if (isList(value)) return `[${list(value)}]`;
  // Python prints an address for most of these.
  throw new Refused(`printing a ${typeName(value)}`);
}

function intText(value: bigint): string {
  const text = String(value);
  if (text.length > MOST_DIGITS + 1) throw new TypeFault(`a number has more than ${MOST_DIGITS} digits`);
  return text;
}

/** The shortest digits that stand for the number, as in JavaScript; the exponent begins elsewhere. */
export function floatText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e16 || size < 1e-4)) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  }
  if (Object.is(value, -0)) return '-0.0';
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

const NAMED: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\\p{C}\p{Z}]/gu, (character) =>
    character === ' ' ? ' ' : (NAMED[character] ?? escapeOf(character)),
  );
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

/** Python's escape of a character by its code. */
function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const [letter, digits] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
  return `\\${letter}${code.toString(16).padStart(digits, '0')}`;
}

/** Options of transformers' `tojson`, which are those of Python's `json.dumps`. */
interface JsonOptions {
  /** What each level is indented by, or null for one line. */
  readonly indent: string | null;
  readonly separators: readonly [item: string, key: string];
}

/** Python's `json.dumps`. */
export function jsonText(value: Value, options: JsonOptions, level = 0): string {
  const text = textOf(value);
  if (text !== undefined) return JSON.stringify(text);
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return pythonText(value);
  if (typeof value === 'number') return jsonFloat(value);
  const items = value instanceof Tuple ? value.items : isList(value) ? value : undefined;
  if (items) {
    const parts = items.map((item) => jsonText(item, options, level + 1));
    return block('[', ']', parts, options, level);
  }
  if (!(value instanceof Dict)) {
    throw new TypeFault(`Object of type ${typeName(value)} is not JSON serializable`);
  }
  const fields = value.entries.map(([key, each]) => {
    const name = textOf(key);
    if (name === undefined) throw new Refused(`"tojson" of a key that is a ${typeName(key)}`);
    return JSON.stringify(name) + options.separators[1] + jsonText(each, options, level + 1);
  });
  return block('{', '}', fields, options, level);
}

const jsonFloat = (value: number): string => (Number.isFinite(value) ? floatText(value) : String(value));

function block(
  opening: string,
  closing: string,
  parts: readonly string[],
  { indent, separators }: JsonOptions,
  level: number,
): string {
  if (parts.length === 0) return opening + closing;
  const line = (depth: number): string => (indent === null ? '' : `\n${repeatText(indent, depth)}`);
  const between = separators[0] + line(level + 1);
  const text = joinTexts(parts, between);
  checkLength(text.length + 2 * between.length);
  return opening + line(level + 1) + text + line(level) + closing;
}
