const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
const DAY_MS = 86_400_000;

/** A number with its usual padding. */
type Part = string | readonly [value: number, digits: number, padding?: ' '];

/** English names whatever the locale: chat templates were trained with those. */
const DIRECTIVES: Readonly<Record<string, (date: Date) => Part>> = {
  Y: (date) => String(date.getFullYear()),
  C: (date) => [Math.floor(date.getFullYear() / 100), 2],
  y: (date) => [date.getFullYear() % 100, 2],
  m: (date) => [date.getMonth() + 1, 2],
  d: (date) => [date.getDate(), 2],
  e: (date) => [date.getDate(), 2, ' '],
  j: (date) => [dayOfYear(date) + 1, 3],
  B: (date) => MONTHS[date.getMonth()] ?? '',
  b: (date) => (MONTHS[date.getMonth()] ?? '').slice(0, 3),
  h: (date) => (MONTHS[date.getMonth()] ?? '').slice(0, 3),
  A: (date) => DAYS[date.getDay()] ?? '',
  a: (date) => (DAYS[date.getDay()] ?? '').slice(0, 3),
  w: (date) => String(date.getDay()),
  u: (date) => String(date.getDay() || 7),
  U: (date) => [Math.floor((dayOfYear(date) + 7 - date.getDay()) / 7), 2],
  W: (date) => [Math.floor((dayOfYear(date) + 7 - ((date.getDay() + 6) % 7)) / 7), 2],
  V: (date) => [Math.floor(dayOfYear(thursday(date)) / 7) + 1, 2],
  G: (date) => String(thursday(date).getFullYear()),
  g: (date) => [thursday(date).getFullYear() % 100, 2],
  H: (date) => [date.getHours(), 2],
  k: (date) => [date.getHours(), 2, ' '],
  I: (date) => [date.getHours() % 12 || 12, 2],
  l: (date) => [date.getHours() % 12 || 12, 2, ' '],
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  P: (date) => (date.getHours() < 12 ? 'am' : 'pm'),
  M: (date) => [date.getMinutes(), 2],
  S: (date) => [date.getSeconds(), 2],
  f: (date) => [1000 * date.getMilliseconds(), 6],
  // The time of `datetime.now()` names no zone.
  z: () => '',
  Z: () => '',
  n: () => '\n',
  t: () => '\t',
  '%': () => '%',
};

/** Directives that stand for others. */
const FORMATS: Readonly<Record<string, string>> = {
  F: '%Y-%m-%d',
  T: '%H:%M:%S',
  R: '%H:%M',
  r: '%I:%M:%S %p',
  D: '%m/%d/%y',
  c: '%a %b %e %H:%M:%S %Y',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

/**
 * Python's `strftime` in local time, with glibc's flags `-`, `_`, `0` and `^`; unknown directives stay as they are.
 * @see https://docs.python.org/3/library/datetime.html#format-codes and `strftime(3)`
 */
export function strftime(date: Date, format: string): string {
  return format.replace(/%([-_0^]?)([A-Za-z%])/g, (directive, flag: string, letter: string) => {
    const whole = FORMATS[letter];
    const part = whole === undefined ? DIRECTIVES[letter]?.(date) : strftime(date, whole);
    if (part === undefined) return directive;
    if (typeof part === 'string') return flag === '^' ? part.toUpperCase() : part;
    const [value, digits, padding = '0'] = part;
    if (flag === '-') return String(value);
    return String(value).padStart(digits, flag === '_' ? ' ' : flag === '0' ? '0' : padding);
  });
}

/** Days since the first of January. */
function dayOfYear(date: Date): number {
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  return (Date.UTC(year, month, day) - Date.UTC(year, 0, 1)) / DAY_MS;
}

/** The Thursday of its week, which is in the year that the week counts to (ISO 8601). */
const thursday = (date: Date): Date =>
  new Date(date.getFullYear(), date.getMonth(), date.getDate() + 4 - (date.getDay() || 7));
