import { Refused } from './jinja/faults.js';

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

const two = (value: number): string => String(value).padStart(2, '0');

/** English names whatever the locale: chat templates were trained with those. */
const DIRECTIVES: Readonly<Record<string, (date: Date) => string>> = {
  Y: (date) => String(date.getFullYear()),
  y: (date) => two(date.getFullYear() % 100),
  m: (date) => two(date.getMonth() + 1),
  d: (date) => two(date.getDate()),
  e: (date) => String(date.getDate()).padStart(2),
  B: (date) => MONTHS[date.getMonth()] ?? '',
  b: (date) => (MONTHS[date.getMonth()] ?? '').slice(0, 3),
  A: (date) => DAYS[date.getDay()] ?? '',
  a: (date) => (DAYS[date.getDay()] ?? '').slice(0, 3),
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  M: (date) => two(date.getMinutes()),
  S: (date) => two(date.getSeconds()),
  // The time of `datetime.now()` names no zone.
  z: () => '',
  Z: () => '',
  '%': () => '%',
};

/** Directives that stand for others. */
const FORMATS: Readonly<Record<string, string>> = { F: '%Y-%m-%d', T: '%H:%M:%S', R: '%H:%M', D: '%m/%d/%y' };

/**
 * Python's `strftime` in local time, with glibc's flag `-` for numbers without a zero in front.
 * @throws Refused for other directives, which chat templates do not use
 * @see https://docs.python.org/3/library/datetime.html#format-codes
 */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?)([\s\S]?)/g, (directive, flag: string, letter: string) => {
    const whole = Object.hasOwn(FORMATS, letter) && flag === '' ? FORMATS[letter] : undefined;
    if (whole !== undefined) return strftime(date, whole);
    const text = Object.hasOwn(DIRECTIVES, letter) ? DIRECTIVES[letter]?.(date) : undefined;
    if (text === undefined) throw new Refused(`the date format "${directive}"`);
    return flag === '' ? text : text.replace(/^[0 ](?=\d)/, '');
  });
}
