/** A value of a template while it runs. */
export interface TemplateValue {
  readonly type: string;
  readonly value: unknown;
}

/** The text that Python makes of a value (`str`), which is what Jinja prints; nothing of what is not defined. */
export function pythonText(value: TemplateValue): string {
  if (value.type === 'UndefinedValue') return '';
  return typeof value.value === 'string' ? value.value : pythonRepr(value);
}

/** Python's `repr`. */
function pythonRepr({ type, value }: TemplateValue): string {
  if (type === 'UndefinedValue') return 'Undefined';
  if (type === 'NullValue') return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return type === 'FloatValue' ? floatText(value) : String(value);
  if (Array.isArray(value)) return listText(type, value);
  if (value instanceof Map) {
    const fields = [...value].map(([name, each]) => `${quoted(String(name))}: ${pythonRepr(each)}`);
    return `{${fields.join(', ')}}`;
  }
  return String(value);
}

function listText(type: string, values: readonly TemplateValue[]): string {
  const items = values.map(pythonRepr).join(', ');
  if (type !== 'TupleValue') return `[${items}]`;
  return values.length === 1 ? `(${items},)` : `(${items})`;
}

/** The shortest digits that stand for the number, as in JavaScript; the exponent begins elsewhere. */
function floatText(value: number): string {
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
    character === ' ' ? ' ' : (NAMED[character] ?? escapeOf(character.codePointAt(0) ?? 0)),
  );
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

function escapeOf(code: number): string {
  const [letter, digits] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
  return `\\${letter}${code.toString(16).padStart(digits, '0')}`;
}
