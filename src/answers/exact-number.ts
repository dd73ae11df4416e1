/** A number as it is written: numerator and denominator, exact. */
export interface WrittenNumber {
  readonly numerator: bigint;
  readonly denominator: bigint;
  /** `decimal` may be rounded. */
  readonly form: 'integer' | 'fraction' | 'decimal';
}

const INTEGER = String.raw`(?:\d{1,3}(?:,\d{3})+|\d+)`;
const DECIMAL = new RegExp(String.raw`^([-+]?)(${INTEGER})?(?:\.(\d*))?$`);
const SLASH = /^([-+]?)(?:(\d+)\s+)?(\d+)\s*\/\s*(\d+)$/;
const FRACTION = /^([-+]?)\s*(\d+)?\s*\\frac\s*(?:\{\s*(\d+)\s*\}|(\d))\s*(?:\{\s*(\d+)\s*\}|(\d))$/;
const MINUS_INSIDE = /^\\frac\s*\{\s*-\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}$/;

/** Reads `1,000`, `-.5`, `3/4`, `\frac{3}{4}` and mixed numbers; `null` for all else. */
export function parseNumber(text: string): WrittenNumber | null {
  const trimmed = text.trim();
  const decimal = DECIMAL.exec(trimmed);
  if (decimal) return decimalNumber(decimal[1] === '-', decimal[2] ?? '', decimal[3]);
  const slash = SLASH.exec(trimmed);
  if (slash) return fraction(slash[1] === '-', slash[2], slash[3], slash[4]);
  const tex = FRACTION.exec(trimmed);
  if (tex) return fraction(tex[1] === '-', tex[2], tex[3] ?? tex[4], tex[5] ?? tex[6]);
  const inside = MINUS_INSIDE.exec(trimmed);
  return inside && fraction(true, undefined, inside[1], inside[2]);
}

function decimalNumber(negative: boolean, whole: string, places: string | undefined): WrittenNumber | null {
  const digits = whole.replaceAll(',', '') + (places ?? '');
  if (digits === '') return null;
  const value = BigInt(digits);
  const denominator = 10n ** BigInt(places?.length ?? 0);
  return { numerator: negative ? -value : value, denominator, form: places ? 'decimal' : 'integer' };
}

function fraction(negative: boolean, whole = '0', above = '', below = ''): WrittenNumber | null {
  const denominator = BigInt(below);
  if (denominator === 0n) return null;
  const numerator = BigInt(whole) * denominator + BigInt(above);
  return { numerator: negative ? -numerator : numerator, denominator, form: 'fraction' };
}

/**
 * Equal, or within the relative tolerance where one of them is a decimal and so may be rounded. Whole numbers and
 * fractions are exact: 12345 is not 12346.
 */
export function sameNumber(a: WrittenNumber, b: WrittenNumber, tolerance: number): boolean {
  const [left, right] = [a.numerator * b.denominator, b.numerator * a.denominator];
  if (left === right) return true;
  if (a.form !== 'decimal' && b.form !== 'decimal') return false;
  const difference = left > right ? left - right : right - left;
  const [sizeA, sizeB] = [left < 0n ? -left : left, right < 0n ? -right : right];
  return within(difference, sizeA > sizeB ? sizeA : sizeB, tolerance);
}

/** difference ≤ tolerance · size, of integers of any length. */
function within(difference: bigint, size: bigint, tolerance: number): boolean {
  return difference * 10n ** 12n <= BigInt(Math.round(tolerance * 1e12)) * size;
}
