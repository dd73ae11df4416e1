import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, choice, integer } from '../draw.js';
import { PEOPLE } from './word-problems.js';
import { type Draft, Working } from './working.js';

/** A larger unit, how many of a smaller one it has, and that one. */
const UNITS = [
  ['hour', 60, 'minute'],
  ['minute', 60, 'second'],
  ['meter', 100, 'centimeter'],
  ['kilometer', 1000, 'meter'],
  ['kilogram', 1000, 'gram'],
  ['liter', 1000, 'milliliter'],
  ['week', 7, 'day'],
  ['day', 24, 'hour'],
  ['year', 12, 'month'],
  ['dollar', 100, 'cent'],
  ['foot', 12, 'inch'],
] as const;

const PLURAL: Readonly<Record<string, string>> = { foot: 'feet', inch: 'inches' };
const count = (n: number, unit: string): string => `${n} ${n === 1 ? unit : plural(unit)}`;
const plural = (unit: string): string => PLURAL[unit] ?? `${unit}s`;

/** One amount or two in a smaller unit, or an amount of a smaller unit in a larger one and a rest. */
export function units(random: RandomGenerator, hard: boolean): Draft {
  const working = new Working();
  const [large, factor, small] = choice(random, UNITS);
  const amount = (): [number, number] => [integer(random, 1, hard ? 50 : 20), integer(random, 1, factor - 1)];
  const inSmall = ([big, rest]: readonly [number, number]): number =>
    working.apply(working.apply(big, '*', factor), '+', rest);
  const text = ([big, rest]: readonly [number, number]): string =>
    `${count(big, large)} and ${count(rest, small)}`;
  const first = amount();
  const kind = choice(random, ['plain', 'one', 'two', 'back']);
  if (kind === 'plain') {
    const question = choice(random, [
      `How many ${plural(small)} are ${count(first[0], large)}?`,
      `How many ${plural(small)} are in ${count(first[0], large)}?`,
    ]);
    return { question, facts: working.facts, answer: `${working.apply(first[0], '*', factor)}` };
  }
  if (kind === 'one') {
    const question = choice(random, [
      `How many ${plural(small)} are ${text(first)}?`,
      `Convert ${text(first)} to ${plural(small)}.`,
    ]);
    return { question, facts: working.facts, answer: `${inSmall(first)}` };
  }
  if (kind === 'two') {
    const second = amount();
    const answer = working.apply(inSmall(first), '+', inSmall(second));
    const question = `How many ${plural(small)} are ${text(first)} plus ${text(second)}?`;
    return { question, facts: working.facts, answer: `${answer}` };
  }
  const total = first[0] * factor + first[1];
  working.apply(total, '-', working.apply(first[0], '*', factor));
  const question = `How many ${plural(large)} and ${plural(small)} are ${count(total, small)}?`;
  return {
    question,
    facts: working.facts,
    answer: `${count(first[0], large)} and ${count(first[1], small)}`,
  };
}

const DAY = 24 * 60;
const time = (minutes: number): string => `${Math.floor(minutes / 60)}:${`${minutes % 60}`.padStart(2, '0')}`;

/** A time of day, and 2 to 4 spans after it, or one or two before it. */
export function clock(random: RandomGenerator): Draft {
  const facts: string[] = [];
  const back = chance(random, 0.25);
  let now = integer(random, 0, DAY / 5 - 1) * 5 + (chance(random, 0.3) ? integer(random, 0, 4) : 0);
  const start = time(now);
  const shift = (minutes: number, text: string): void => {
    const before = now;
    now = (now + (back ? -minutes : minutes) + DAY) % DAY;
    facts.push(`${time(before)} ${back ? '-' : '+'} ${text} = ${time(now)}`);
  };
  const span = (): string => {
    const hours = chance(random, 0.4) ? integer(random, 1, 5) : 0;
    const minutes = integer(random, 1, 11) * 5;
    if (hours > 0) shift(hours * 60, `${hours} h`);
    shift(minutes, `${minutes} min`);
    return `${hours > 0 ? `${count(hours, 'hour')} and ` : ''}${minutes} minutes`;
  };
  if (back) {
    const told = [`A film starts at ${start}.`, `The way there takes ${span()}.`];
    if (chance(random, 0.6)) told.push(`${choice(random, PEOPLE)} needs ${span()} to get ready.`);
    return { question: `${told.join(' ')} What is the latest time to begin?`, facts, answer: time(now) };
  }
  const who = choice(random, PEOPLE);
  const told = [
    choice(random, [`A train leaves at ${start}.`, `${who} starts at ${start}.`, `It is ${start}.`]),
  ];
  told.push(`The first part takes ${span()}.`);
  if (chance(random, 0.6)) told.push(`A break takes ${span()}.`);
  told.push(`The last part takes ${span()}.`);
  return { question: `${told.join(' ')} What time is it at the end?`, facts, answer: time(now) };
}

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const MONTHS = [
  ['January', 31],
  ['February', 28],
  ['March', 31],
  ['April', 30],
  ['May', 31],
  ['June', 30],
  ['July', 31],
  ['August', 31],
  ['September', 30],
  ['October', 31],
  ['November', 30],
  ['December', 31],
] as const;

/** A weekday or a date, 2 spans of days later; February has 28 days. */
export function dates(random: RandomGenerator, hard: boolean): Draft {
  const facts: string[] = [];
  const spans = [integer(random, 1, hard ? 99 : 60), integer(random, 1, 60)];
  if (chance(random, 0.2)) spans.pop();
  const later = `What day is it ${spans.map((days) => `${count(days, 'day')} later`).join(' and then ')}?`;
  if (chance(random, 0.5)) {
    let day = integer(random, 0, 6);
    const first = WEEKDAYS[day]!;
    for (const days of spans) {
      const rest = days % 7;
      if (days > rest) facts.push(`${days} - ${days - rest} = ${rest}`);
      const next = (day + rest) % 7;
      facts.push(`${WEEKDAYS[day]} + ${rest} = ${WEEKDAYS[next]}`);
      day = next;
    }
    return { question: `Today is ${first}. ${later}`, facts, answer: WEEKDAYS[day]! };
  }
  let month = integer(random, 0, 11);
  let date = integer(random, 1, MONTHS[month]![1]);
  const text = (): string => `${MONTHS[month]![0]} ${date}`;
  const first = text();
  for (const days of spans) {
    const before = text();
    date += days;
    facts.push(`${before} + ${days} = ${text()}`);
    while (date > MONTHS[month]![1]) {
      const over = text();
      const length = MONTHS[month]![1];
      date -= length;
      month = (month + 1) % 12;
      facts.push(`${over} - ${length} = ${text()}`);
    }
  }
  return { question: `Today is ${first}. ${later}`, facts, answer: text() };
}
