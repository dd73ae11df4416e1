import { numberOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { joinTexts, repeatText } from './limits.js';
import { pythonRepr, pythonText } from './repr.js';
import {
  characters,
  Dict,
  isList,
  lengthOf,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.js';

/** How a value is written: `[[fill]align][sign][0][width][,][.precision][type]`. */
export interface Layout {
  readonly fill: string;
  readonly align: string;
  readonly sign: string;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | null;
  readonly type: string;
}

const PERCENT =
  /%(?:\((?<key>[^()]*)\))?(?<flags>[#0 +-]*)(?<width>\*|\d+)?(?:\.(?<precision>\*|\d*))?[hlL]?(?<type>[\s\S])?/g;

/** Python's `text % values`. */
export function percent(text: string, values: Value): string {
  const queue = values instanceof Tuple ? [...values.items] : [values];
  const isMapping =
    values instanceof Dict || values instanceof Undefined || isList(values) || values instanceof Range;
  let areNamed = false;
  const next = (): Value => {
    const value = queue.shift();
    if (value === undefined) throw new TypeFault('not enough arguments for format string');
    return value;
  };
  const parts: string[] = [];
  let last = 0;
  for (const match of text.matchAll(PERCENT)) {
    parts.push(text.slice(last, match.index));
    last = match.index + match[0].length;
    const { key, flags = '', width, precision, type } = match.groups ?? {};
    if (type === undefined) throw new TypeFault('incomplete format');
    if (type === '%') {
      parts.push('%');
      continue;
    }
    if (flags.includes('#') || width === '*' || precision === '*')
      throw new Refused(`the format "${match[0]}"`);
    if (key !== undefined) {
      if (!(values instanceof Dict)) throw new TypeFault('format requires a mapping');
      areNamed = true;
    }
    const value = key === undefined ? next() : values instanceof Dict ? values.get(key) : undefined;
    if (value === undefined) throw new TypeFault(`no value for "${key}"`);
    const isNumber = /[diufFeEgGxXo]/.test(type);
    const layout: Layout = {
      fill: flags.includes('0') && !flags.includes('-') && isNumber ? '0' : ' ',
      align: flags.includes('-') ? '<' : flags.includes('0') && isNumber ? '=' : '>',
      sign: flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '-',
      width: Number(width ?? 0),
      grouping: '',
      precision: precision === undefined ? null : Number(precision),
      type: type === 'i' || type === 'u' ? 'd' : type,
    };
    parts.push(percentPart(value, layout));
  }
  if (!areNamed && queue.length > 0 && !isMapping) {
    throw new TypeFault('not all arguments converted during string formatting');
  }
  if (values instanceof Tuple && queue.length > 0) {
    throw new TypeFault('not all arguments converted during string formatting');
  }
  return joinTexts([...parts, text.slice(last)]);
}

function percentPart(value: Value, layout: Layout): string {
  const { type, precision } = layout;
  if (type === 's' || type === 'r') {
    const text = type === 's' ? pythonText(value) : pythonRepr(value);
    return padded('', cut(text, precision), layout);
  }
  const number = numberOf(value);
  if (/[dxXofFeEgG]/.test(type)) {
    if (number === undefined || (/[xXo]/.test(type) && typeof number !== 'bigint')) {
      throw new TypeFault(`%${type} format: a number is required, not ${typeName(value)}`);
    }
    if (type === 'd' && typeof number === 'number') {
      if (!Number.isFinite(number)) throw new TypeFault('cannot convert float to integer');
      return formatNumber(BigInt(Math.trunc(number)), layout);
    }
    if (/[dxXo]/.test(type) && precision !== null) throw new Refused(`the format "%.${precision}${type}"`);
    return formatNumber(number, layout);
  }
  if (type === 'a' || type === 'c') throw new Refused(`the format "%${type}"`);
  throw new TypeFault(`unsupported format character '${type}'`);
}

const cut = (text: string, precision: number | null): string =>
  precision === null ? text : characters(text).slice(0, precision).join('');

const SPEC =
  /^(?:(?<fill>[\s\S])?(?<align>[<>=^]))?(?<sign>[-+ ])?(?<other>[z#]*)(?<zero>0)?(?<width>\d+)?(?<grouping>[,_])?(?:\.(?<precision>\d+))?(?<type>[a-zA-Z%])?$/u;

/** Python's `format(value, spec)`. */
export function formatted(value: Value, spec: string): string {
  const { groups } = SPEC.exec(spec) ?? {};
  if (groups === undefined) throw new TypeFault(`invalid format specifier '${spec}'`);
  if (spec === '') return pythonText(value);
  if (groups.other || groups.type === 'n' || groups.type === 'c') throw new Refused(`the format "${spec}"`);
  const number = numberOf(value);
  const isText = typeof value === 'string';
  if (number === undefined && !isText) {
    throw new TypeFault(`unsupported format string passed to ${typeName(value)}.__format__`);
  }
  const align = groups.align ?? (isText ? '<' : groups.zero ? '=' : '>');
  const layout: Layout = {
    fill: groups.fill ?? (groups.zero ? '0' : ' '),
    align,
    sign: groups.sign ?? '-',
    width: Number(groups.width ?? 0),
    grouping: groups.grouping ?? '',
    precision: groups.precision === undefined ? null : Number(groups.precision),
    type: groups.type ?? '',
  };
  if (isText) {
    if (groups.sign || groups.grouping || align === '=' || !['', 's'].includes(layout.type)) {
      throw new TypeFault(`invalid format specifier '${spec}' for a str`);
    }
    return padded('', cut(value, layout.precision), layout);
  }
  if (number === undefined) throw new TypeFault(`invalid format specifier '${spec}'`);
  if (typeof number === 'bigint') {
    if (layout.type !== '' && !/[bdoxXeEfFgG%]/.test(layout.type)) throw unknownCode(layout.type, value);
    if (layout.precision !== null && /^[bdoxX]?$/.test(layout.type)) {
      throw new TypeFault('Precision not allowed in integer format specifier');
    }
  } else if (layout.type !== '' && !/[eEfFgG%]/.test(layout.type)) throw unknownCode(layout.type, value);
  if (layout.grouping && layout.align === '=' && layout.fill === '0')
    throw new Refused(`the format "${spec}"`);
  if (layout.grouping === ',' && /[boxX]/.test(layout.type))
    throw new TypeFault(`Cannot specify ',' with '${layout.type}'.`);
  if (typeof value === 'boolean' && layout.type === '') return formatNumber(number, { ...layout, type: 'd' });
  return formatNumber(number, layout);
}

const unknownCode = (type: string, value: Value): TypeFault =>
  new TypeFault(`Unknown format code '${type}' for object of type '${typeName(value)}'`);

function formatNumber(value: bigint | number, layout: Layout): string {
  const isNegative = value < 0 || Object.is(value, -0);
  const sign = isNegative ? '-' : layout.sign === '-' ? '' : layout.sign;
  const size = digitsOf(isNegative ? -value : value, layout);
  return padded(sign, grouped(size, layout), layout);
}

function digitsOf(value: bigint | number, { type, precision }: Layout): string {
  const radix = { b: 2, o: 8, x: 16, X: 16 }[type];
  if (radix !== undefined) {
    const digits = value.toString(radix);
    return type === 'X' ? digits.toUpperCase() : digits;
  }
  if (typeof value === 'bigint' && (type === 'd' || type === '')) return pythonText(value);
  const number = Number(value);
  if (!Number.isFinite(number)) {
    if (typeof value === 'bigint') throw new TypeFault('int too large to convert to float');
    const name = Number.isNaN(number) ? 'nan' : 'inf';
    return (/[FEG]/.test(type) ? name.toUpperCase() : name) + (type === '%' ? '%' : '');
  }
  const digits = Math.min(precision ?? 6, 100);
  if ((precision ?? 0) > 100) throw new Refused(`a precision of ${precision}`);
  if (type === '%') return `${fixed(number * 100, digits)}%`;
  if (/[fF]/.test(type)) return fixed(number, digits);
  if (/[eE]/.test(type)) return cased(exponential(number, digits), type);
  if (type === '' && precision === null) return pythonText(number);
  if (type === '') throw new Refused(`the format ".${precision}" of a float`);
  return cased(general(number, Math.max(1, digits)), type);
}

const cased = (text: string, type: string): string => (/[EG]/.test(type) ? text.toUpperCase() : text);

/** A half is rounded to even digits, which JavaScript rounds up. */
export function fixed(value: number, digits: number): string {
  if (Math.abs(value) >= 1e21) return BigInt(value) + (digits > 0 ? `.${'0'.repeat(digits)}` : '');
  const rounded = value.toFixed(digits);
  if (digits >= 100 || !Number.isInteger(value * 2 ** (digits + 1))) return rounded;
  const exact = value.toFixed(digits + 1);
  const down = exact.slice(0, digits === 0 ? -2 : -1);
  return exact.endsWith('5') && /[02468]$/.test(down) ? down : rounded;
}

function exponential(value: number, digits: number): string {
  const [rounded = '', exponent = ''] = value.toExponential(digits).split('e');
  const [exact = '', exactExponent = ''] = value.toExponential(100).split('e');
  const down = exact.slice(0, digits === 0 ? 1 : digits + 2);
  const rest = exact.slice(down.length).replace('.', '');
  const isHalf = /^50*$/.test(rest) && /[02468]$/.test(down);
  const [mantissa, power] = isHalf ? [down, exactExponent] : [rounded, exponent];
  return `${mantissa}e${power.replace(/^([+-])(\d)$/, '$10$2')}`;
}

function general(value: number, digits: number): string {
  const [mantissa = '', power = '0'] = exponential(value, digits - 1).split('e');
  const exponent = Number(power);
  const bare = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  if (exponent < -4 || exponent >= digits) return `${bare(mantissa)}e${power}`;
  return bare(fixed(value, digits - 1 - exponent));
}

function grouped(digits: string, { grouping, type }: Layout): string {
  if (grouping === '') return digits;
  const [, whole = '', rest = ''] = /^(\w*?)((?:[.e%].*)?)$/.exec(digits) ?? [];
  const size = /[box]/i.test(type) ? 4 : 3;
  return whole.replace(new RegExp(`\\B(?=(?:\\w{${size}})+$)`, 'g'), grouping) + rest;
}

function padded(sign: string, text: string, { align, fill, width }: Layout): string {
  const space = Math.max(0, width - lengthOf(sign + text));
  if (align === '=') return sign + repeatText(fill, space) + text;
  const before = align === '<' ? 0 : align === '^' ? Math.floor(space / 2) : space;
  return repeatText(fill, before) + sign + text + repeatText(fill, space - before);
}

const FIELD =
  /\{\{|\}\}|\{(?<name>[^{}!:]*)(?:!(?<conversion>[^:{}]*))?(?::(?<spec>[^{}]*(?:\{[^{}]*\}[^{}]*)*))?\}|[{}]/g;

/** How a text reads the fields of an object. */
export interface FieldAccess {
  attribute(object: Value, name: string): Value;
  item(object: Value, key: Value): Value;
}

/** Python's `text.format(...)`, within the sandbox. */
export function formatFields(
  text: string,
  positional: readonly Value[],
  named: (name: string) => Value | undefined,
  access: FieldAccess,
): string {
  let count = 0;
  const fieldValue = (name: string): Value => {
    const [, first = '', rest = ''] = /^([^.[]*)([\s\S]*)$/.exec(name) ?? [];
    const place = first === '' ? count++ : /^\d+$/.test(first) ? Number(first) : undefined;
    const found = place === undefined ? named(first) : positional[place];
    if (found === undefined) throw new TypeFault(`format has no value for "{${name}}"`);
    let value = found;
    for (const [, attribute, item = ''] of rest.matchAll(/\.([^.[]+)|\[([^\]]+)\]/g)) {
      value =
        attribute === undefined
          ? access.item(value, /^\d+$/.test(item) ? BigInt(item) : item)
          : access.attribute(value, attribute);
    }
    return value;
  };
  const isNumbered = new Set(
    [...text.matchAll(FIELD)].flatMap(({ groups }) => {
      const name = groups?.name;
      return name === undefined || !/^\d*(?:[.[]|$)/.test(name) ? [] : [/^\d/.test(name)];
    }),
  );
  if (isNumbered.size > 1) throw new TypeFault('cannot switch between numbered and unnumbered fields');
  const parts: string[] = [];
  let last = 0;
  for (const match of text.matchAll(FIELD)) {
    parts.push(text.slice(last, match.index));
    last = match.index + match[0].length;
    const { name, conversion, spec = '' } = match.groups ?? {};
    if (name === undefined) {
      if (match[0].length === 1) throw new TypeFault(`Single '${match[0]}' encountered in format string`);
      parts.push(match[0].slice(1));
      continue;
    }
    if (spec.includes('{')) throw new Refused('a field within the format of a field');
    const value = fieldValue(name);
    parts.push(formatted(converted(value, conversion), spec));
  }
  return joinTexts([...parts, text.slice(last)]);
}

function converted(value: Value, conversion: string | undefined): Value {
  if (conversion === undefined) return value;
  if (conversion === 's') return pythonText(value);
  if (conversion === 'r') return pythonRepr(value);
  if (conversion === 'a') throw new Refused('the conversion "!a"');
  throw new TypeFault(`unknown conversion "!${conversion}"`);
}
