import { textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { checkLength, joinTexts, repeatText } from './limits.js';
import { floatText, pythonText } from './repr.js';
import { Dict, isList, Tuple, typeName, type Value } from './values.js';

/** Options of transformers' `tojson`, which are those of Python's `json.dumps`. */
export interface JsonOptions {
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
