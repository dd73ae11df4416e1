import type { Problem, Task } from '#bench/tasks/problem.js';

/** The answer of a problem, from its question alone; `null` for a family that has no solver. */
export const answerOf = ({ task, question }: Problem): string | null => SOLVERS[task]?.(question) ?? null;

const SOLVERS: Partial<Record<Task, (question: string) => string>> = {
  expression: (question) => {
    const [, text] = / ([\d(].*)[?.]$/.exec(question)!;
    return `${evaluate(text!.replaceAll(' ', '').replaceAll(/[-+*]/g, ' $& '))}`;
  },
  average: (question) => {
    const all = numbers(question);
    return `${all.reduce((sum, n) => sum + n, 0) / all.length}`;
  },
  sequence: (question) => {
    const terms = numbers(question);
    const ratio = terms[1]! / terms[0]!;
    const geometric = terms.every((term, i) => i === 0 || term === terms[i - 1]! * ratio);
    return `${geometric ? terms.at(-1)! * ratio : extrapolate(terms)}`;
  },
  equation: (question) => {
    const [left, right] = /\dx .*\d/.exec(question)![0].split(' = ').map(line);
    return `${(right!.constant - left!.constant) / (left!.factor - right!.factor)}`;
  },
  sharing: (question) => {
    const [total, people] = numbers(question);
    return `${question.includes('left over') ? total! % people! : Math.floor(total! / people!)}`;
  },
  clock: (question) => {
    const [, hours, minutes] = /(\d+):(\d+)/.exec(question)!;
    const spans = question.slice(question.indexOf('.'));
    const total = 60 * sumOf(spans, /(\d+) hours?/g) + sumOf(spans, /(\d+) minutes?/g);
    const sign = question.includes('latest') ? -1 : 1;
    const at = new Date(Date.UTC(2023, 0, 2, Number(hours), Number(minutes) + sign * total));
    return `${at.getUTCHours()}:${`${at.getUTCMinutes()}`.padStart(2, '0')}`;
  },
  dates: (question) => {
    const [, today] = /Today is ([^.]*)\./.exec(question)!;
    // January 4, 2021 is a Monday, and neither 2021 nor 2022 has a February 29.
    const weekday = DAYS.indexOf(today!);
    const first = weekday < 0 ? Date.parse(`${today} 2021 UTC`) : Date.UTC(2021, 0, 4 + weekday);
    const day = new Date(first + sumOf(question, /(\d+) days?/g) * 86_400_000);
    return weekday < 0
      ? day.toLocaleDateString('en-US', { month: 'long', day: 'numeric', timeZone: 'UTC' })
      : DAYS[(day.getUTCDay() + 6) % 7]!;
  },
  sorting: (question) => {
    const sorted = numbers(question).sort((a, b) => a - b);
    return (question.includes('largest to smallest') ? sorted.reverse() : sorted).join(', ');
  },
  sets: (question) => {
    const [first, second] = Array.from(question.matchAll(/is ([\d, ]+)\./g), ([, text]) => numbers(text!));
    const kept = first!.filter((n) => second!.includes(n) !== question.includes('not in B'));
    return kept.join(', ') || 'none';
  },
  counting: (question) => {
    const [, beads, asked] = /beads: (.*)\. How many are (.*)\?/.exec(question)!;
    const colors = asked!.split(' or ');
    return `${beads!.split(', ').filter((bead) => colors.includes(bead)).length}`;
  },
  heights: (question) => solveHeights(question),
  tracking: (question) => {
    const ball = new Map(Array.from(question.matchAll(/(\w+) has the (\w+) ball/g), ([, a, b]) => [a!, b!]));
    for (const [, a, b] of question.matchAll(/(\w+) and (\w+) swap/g)) {
      const [first, second] = [ball.get(a!)!, ball.get(b!)!];
      ball.set(a!, second).set(b!, first);
    }
    return ball.get(/does (\w+) have now/.exec(question)![1]!)!;
  },
  truth: (question) => {
    const honest = new Map<string, boolean>();
    for (const sentence of question.split('. ')) {
      const [, name, claim] = /^(\w+) (.*?)\.?$/.exec(sentence)!;
      const [, a, b, same] = /^says (\w+) and (\w+) are (\w+)/.exec(claim!) ?? [];
      const [, other, truthful] = /^says (\w+) (lies|tells)/.exec(claim!) ?? [];
      if (a) honest.set(name!, (honest.get(a) === honest.get(b!)) === (same === 'alike'));
      else if (other) honest.set(name!, honest.get(other) === (truthful === 'tells'));
      else if (name !== 'Does') honest.set(name!, claim === 'tells the truth');
    }
    return honest.get(/Does (\w+) tell/.exec(question)![1]!) ? 'Yes' : 'No';
  },
  ordering: (question) => {
    const place = new Map<string, number>();
    for (const [, name, side, other] of question.matchAll(
      /(\w+) stands (right behind|right in front of|in) (\w+)/g,
    )) {
      const at = place.get(other!) ?? 0;
      // Nearer to the one beside than all before: half of the gap, as often as there are people.
      place.set(name!, at + (side === 'right behind' ? 1 : -1) * 8 ** -place.size);
    }
    const line = Array.from(place.keys()).sort((a, b) => place.get(a)! - place.get(b)!);
    const asked = /Who is (\w+)\?/.exec(question)![1]!;
    return line.at(
      asked === 'last' ? -1 : ['first', 'second', 'third', 'fourth', 'fifth', 'sixth'].indexOf(asked),
    )!;
  },
  walk: (question) => {
    let [x, y, dx, dy] = [0, 0, 0, 1];
    for (const [, turn, steps] of question.matchAll(/Turn (\w+)|(?:Take|Walk) (\d+)/g)) {
      [x, y] = [x + dx * Number(steps ?? 0), y + dy * Number(steps ?? 0)];
      for (let i = { left: 3, around: 2, right: 1 }[turn ?? ''] ?? 0; i > 0; i -= 1) [dx, dy] = [dy, 0 - dx];
    }
    return `(${x}, ${y})`;
  },
  distance: (question) => `${sumOf(question, /(\d+) steps/g)}`,
};

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

const numbers = (text: string): number[] => (text.match(/\d+/g) ?? []).map(Number);
const sumOf = (text: string, pattern: RegExp): number =>
  Array.from(text.matchAll(pattern), ([, n]) => Number(n)).reduce((sum, n) => sum + n, 0);

/** Innermost brackets, then products, then sums. */
function evaluate(text: string): number {
  const inner = /\(([^()]*)\)/.exec(text);
  if (inner) return evaluate(text.replace(inner[0], `${evaluate(inner[1]!)}`));
  const parts = text.replaceAll(
    /(-?\d+(?: \* -?\d+)+)/g,
    (product) => `${product.split(' * ').reduce((value, factor) => value * Number(factor), 1)}`,
  );
  return parts
    .replaceAll(' - ', ' + -')
    .replaceAll('--', '')
    .split(' + ')
    .reduce((sum, n) => sum + Number(n), 0);
}

/** The next value of the polynomial through all terms: differences of differences until they vanish. */
function extrapolate(terms: readonly number[]): number {
  if (terms.every((term) => term === 0)) return 0;
  return terms.at(-1)! + extrapolate(terms.slice(1).map((term, i) => term - terms[i]!));
}

/** Coefficients of one side of an equation: `4x - 7`, `12`, `-3`. */
function line(side: string): { factor: number; constant: number } {
  const [, coefficient, x] = /^(\d*)(x)/.exec(side) ?? [];
  const rest = side.replace(/^\d*x/, '').replaceAll(' ', '');
  return { factor: x ? Number(coefficient || 1) : 0, constant: Number(rest) };
}

function solveHeights(question: string): string {
  const tall = new Map<string, number>();
  for (const [, name, by, how, other] of question.matchAll(/(\w+) is (\d+) cm (\w+)(?: than (\w+))?/g)) {
    const from = other ? tall.get(other)! : 0;
    tall.set(name!, how === 'shorter' ? from - Number(by) : from + Number(by));
  }
  const asked = /How tall is (\w+)/.exec(question)?.[1];
  if (asked) return `${tall.get(asked)}`;
  return Array.from(tall.entries()).reduce((most, entry) => (entry[1] > most[1] ? entry : most))[0];
}
