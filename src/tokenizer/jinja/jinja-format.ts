import { Refused, TypeFault } from './faults.js';
import { joinTexts } from './limits.js';
import { pythonText } from './repr.js';
import { Dict, isList, Range, Tuple, typeName, Undefined, type Value } from './values.js';

/** `%s`, `%(name)d`, with what Python allows between `%` and the letter. */
const PERCENT = /%(?:\((?<key>[^()]*)\))?(?<options>[-#0 +*.\dhlL]*)(?<type>[\s\S])?/g;

/** Python's `text % values`, of texts and ints without a width. */
export function percent(text: string, values: Value): string {
  const queue = values instanceof Tuple ? [...values.items] : [values];
  let areNamed = false;
  const next = (key: string | undefined): Value => {
    if (key !== undefined && !(values instanceof Dict)) throw new TypeFault('format requires a mapping');
    areNamed ||= key !== undefined;
    const value = key !== undefined && values instanceof Dict ? values.get(key) : queue.shift();
    if (value === undefined) throw new TypeFault(`the format string has no value for "${key ?? '%'}"`);
    return value;
  };
  const made = text.replace(PERCENT, (format, key, options: string, type: string | undefined) => {
    if (type === undefined) throw new TypeFault('incomplete format');
    if (!/[diouxXeEfFgGcrsa%]/.test(type)) throw new TypeFault(`unsupported format character '${type}'`);
    if (format === '%%') return '%';
    if (options !== '' || !/[sd]/.test(type)) throw new Refused(`the format "${format}"`);
    const value = next(key);
    if (type === 's' || typeof value === 'bigint') return pythonText(value);
    if (typeof value === 'number' || typeof value === 'boolean')
      throw new Refused('"%d" of a float or a bool');
    throw new TypeFault(`%d format: a number is required, not ${typeName(value)}`);
  });
  const isMapping =
    values instanceof Dict || values instanceof Undefined || isList(values) || values instanceof Range;
  if (!areNamed && queue.length > 0 && !isMapping) {
    throw new TypeFault('not all arguments converted during string formatting');
  }
  return joinTexts([made]);
}

/** Python's `text.format(...)`, of fields by place or name without a format of their own. */
export function formatFields(
  text: string,
  positional: readonly Value[],
  named: ReadonlyMap<string, Value>,
): string {
  let count = 0;
  const numbered = new Set<boolean>();
  const made = text.replace(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (field, name: string | undefined) => {
    if (field.length === 1) throw new TypeFault(`Single '${field}' encountered in format string`);
    if (name === undefined) return field.slice(1);
    if (!/^\w*$/.test(name)) throw new Refused(`the field "${field}" of a format`);
    if (/^\d*$/.test(name)) numbered.add(name !== '');
    const value =
      name === '' ? positional[count++] : /^\d/.test(name) ? positional[Number(name)] : named.get(name);
    if (value === undefined) throw new TypeFault(`format has no value for "${field}"`);
    return pythonText(value);
  });
  if (numbered.size > 1) throw new TypeFault('cannot switch between numbered and unnumbered fields');
  return joinTexts([made]);
}
