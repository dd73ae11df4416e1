const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

const two = (n: number) => String(n).padStart(2, '0');

/** English names whatever the locale: chat templates were trained with those. */
const DIRECTIVES: Readonly<Record<string, (date: Date) => string>> = {
  '%Y': (date) => String(date.getFullYear()),
  '%y': (date) => two(date.getFullYear() % 100),
  '%m': (date) => two(date.getMonth() + 1),
  '%d': (date) => two(date.getDate()),
  '%-d': (date) => String(date.getDate()),
  '%B': (date) => MONTHS[date.getMonth()] ?? '',
  '%b': (date) => (MONTHS[date.getMonth()] ?? '').slice(0, 3),
  '%A': (date) => DAYS[date.getDay()] ?? '',
  '%a': (date) => (DAYS[date.getDay()] ?? '').slice(0, 3),
  '%H': (date) => two(date.getHours()),
  '%I': (date) => two(date.getHours() % 12 || 12),
  '%p': (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  '%M': (date) => two(date.getMinutes()),
  '%S': (date) => two(date.getSeconds()),
  '%%': () => '%',
};

/** Python's `strftime` in local time, as far as chat templates use it; other directives stay as they are. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%-?[A-Za-z%]/g, (directive) => DIRECTIVES[directive]?.(date) ?? directive);
}
