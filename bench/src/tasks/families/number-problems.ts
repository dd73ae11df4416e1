import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, choice, integer } from '../draw.js';
import { ITEMS, PEOPLE } from './word-problems.js';
import { type Draft, list, type Operator, Working } from './working.js';

const numbers = (random: RandomGenerator, count: number, from: number, to: number): number[] =>
  Array.from({ length: count }, () => integer(random, from, to));

/** 2 to 4 operations, bracketed where they must be, from the innermost out. */
export function expression(random: RandomGenerator, hard: boolean): Draft {
  const largest = hard ? 200 : 50;
  const working = new Working();
  let value = integer(random, 2, largest);
  let text = `${value}`;
  for (let operations = integer(random, 2, 4); operations > 0; operations -= 1) {
    const operator = choice<Operator>(random, ['+', '+', '-', '-', '*']);
    const operand =
      operator === '*'
        ? integer(random, 2, 9)
        : integer(random, 1, operator === '-' && chance(random, 0.9) ? Math.max(1, value - 1) : largest);
    const left = operator === '*' && working.facts.length > 0 ? `(${text})` : text;
    value = working.apply(value, operator, operand);
    text = `${left} ${operator} ${operand}`;
  }
  if (chance(random, 0.1)) text = text.replaceAll(' ', '');
  const question = choice(random, [`What is ${text}?`, `Compute ${text}.`, `Evaluate ${text}.`]);
  return { question, facts: working.facts, answer: `${value}` };
}

/** A linear equation with a whole solution. */
export function equation(random: RandomGenerator, hard: boolean): Draft {
  const working = new Working();
  const x = integer(random, 1, hard ? 99 : 20);
  const a = integer(random, 2, 9);
  const b = integer(random, 1, hard ? 200 : 60);
  const plus = chance(random, 0.5);
  const both = chance(random, 0.4);
  const c = both ? integer(random, 1, a - 1) : 0;
  const right = (a - c) * x + (plus ? b : -b);
  const term = (factor: number): string => (factor === 1 ? 'x' : `${factor}x`);
  const constant = right < 0 ? ` - ${-right}` : ` + ${right}`;
  const text = `${a}x ${plus ? '+' : '-'} ${b} = ${both ? `${term(c)}${constant}` : right}`;
  const factor = both ? working.apply(a, '-', c) : a;
  const product = working.apply(right, plus ? '-' : '+', b);
  const answer = working.apply(product, '/', factor);
  const question = choice(random, [`Solve ${text}.`, `Find x: ${text}.`, `What is x if ${text}?`]);
  return { question, facts: working.facts, answer: `${answer}` };
}

/** The next number of a sequence: of equal differences, of differences that grow by one number, or of equal factors. */
export function sequence(random: RandomGenerator, hard: boolean): Draft {
  const working = new Working();
  const kind = choice(random, ['difference', 'growing', 'factor']);
  const terms = [integer(random, 1, hard ? 499 : 99)];
  const grow = kind === 'growing' ? integer(random, 1, hard ? 12 : 6) : 0;
  const factor = integer(random, 2, 4);
  let step = integer(random, 2, hard ? 99 : 30);
  for (let count = integer(random, 4, 5); count > 1; count -= 1) {
    const last = terms.at(-1)!;
    terms.push(kind === 'factor' ? last * factor : last + step);
    step += grow;
  }
  for (const [i, term] of terms.slice(1).entries()) {
    working.apply(term, kind === 'factor' ? '/' : '-', terms[i]!);
  }
  const last = terms.at(-1)!;
  const difference = last - terms.at(-2)!;
  const answer =
    kind === 'factor'
      ? working.apply(last, '*', factor)
      : working.apply(last, '+', grow > 0 ? working.apply(difference, '+', grow) : difference);
  const text = terms.join(', ');
  const question = choice(random, [
    `What number comes next: ${text}?`,
    `Continue the sequence ${text}.`,
    `Find the next number: ${text}.`,
  ]);
  return { question, facts: working.facts, answer: `${answer}` };
}

/** Division with a remainder. */
export function sharing(random: RandomGenerator, hard: boolean): Draft {
  const working = new Working();
  const people = integer(random, 3, 9);
  const each = integer(random, 2, hard ? 60 : 20);
  const total = people * each + integer(random, 1, people - 1);
  const item = choice(random, ITEMS);
  const who = choice(random, PEOPLE);
  const left = working.apply(total, '-', working.apply(people, '*', each));
  const [asked, answer] = chance(random, 0.5)
    ? [`How many ${item} are left over?`, left]
    : [`How many whole ${item} does each get?`, each];
  const story = choice(random, [
    `${who} shares ${total} ${item} equally among ${people} children.`,
    `${total} ${item} are shared equally by ${people} people.`,
  ]);
  return { question: `${story} ${asked}`, facts: working.facts, answer: `${answer}` };
}

/** The mean of 3 to 5 numbers. */
export function average(random: RandomGenerator, hard: boolean): Draft {
  const working = new Working();
  const count = integer(random, 3, 5);
  const all = numbers(random, count, 1, hard ? 99 : 20);
  const total = all.reduce((sum, number) => sum + number, 0);
  all[0]! += (count - (total % count)) % count;
  const answer = working.apply(working.sum(all), '/', count);
  const question = choice(random, [
    `What is the average of ${list(all)}?`,
    `Find the mean of ${list(all)}.`,
    `${choice(random, PEOPLE)} scores ${list(all)}. What is the average score?`,
  ]);
  return { question, facts: working.facts, answer: `${answer}` };
}
