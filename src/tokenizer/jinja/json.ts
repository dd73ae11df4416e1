import { numberOf, sorted, textOf } from './compare.js';
import { TypeFault } from './faults.js';
import { checkLength, joinTexts, repeatText } from './limits.js';
import { floatText, pythonText } from './repr.js';
import { Dict, isList, Tuple, typeName, type Value } from './values.js';

/** Options of transformers' `tojson`, which are those of Python's `json.dumps`. */
export interface JsonOptions {
  readonly isAscii: boolean;
  /** What each level is indented by, or null for one line. */
  readonly indent: string | null;
  readonly separators: readonly [item: string, key: string];
  readonly isSorted: boolean;
}

/** Python's `json.dumps`. */
export function jsonText(value: Value, options: JsonOptions, level = 0): string {
  const text = textOf(value);
  if (text !== undefined) return quoted(text, options);
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return pythonText(value);
  if (typeof value === 'number') return jsonFloat(value);
  const items = value instanceof Tuple ? value.items : isList(value) ? value : undefined;
  if (items)
    return block(
      '[',
      ']',
      items.map((item) => jsonText(item, options, level + 1)),
      options,
      level,
    );
  if (!(value instanceof Dict)) {
    throw new TypeFault(`Object of type ${typeName(value)} is not JSON serializable`);
  }
  const entries = options.isSorted ? sortedEntries(value) : value.entries;
  const fields = entries.map(([key, each]) => {
    const name = quoted(textOf(key) ?? keyText(key), options);
    return name + options.separators[1] + jsonText(each, options, level + 1);
  });
  return block('{', '}', fields, options, level);
}

function sortedEntries(dict: Dict): (readonly [Value, Value])[] {
  const keys = sorted(dict.keys, (key) => key, false);
  return keys.map((key) => [key, dict.get(key) ?? null]);
}

function keyText(key: Value): string {
  if (key !== null && numberOf(key) === undefined) {
    throw new TypeFault(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
  }
  return key === null || typeof key === 'boolean'
    ? String(key)
    : typeof key === 'number'
      ? jsonFloat(key)
      : pythonText(key);
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

/** As `JSON.stringify` writes it, which leaves more characters as they are than ASCII. */
function quoted(text: string, { isAscii }: JsonOptions): string {
  const json = JSON.stringify(text);
  if (!isAscii) return json;
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
