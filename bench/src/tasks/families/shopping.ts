import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, choice, integer, sample } from '../draw.js';
import { BOXES, ITEMS, PEOPLE } from './word-problems.js';
import { type Draft, list, Working } from './working.js';

/** 2 to 4 events that each change how many things a person has. */
export function story(random: RandomGenerator, hard: boolean): Draft {
  const largest = hard ? 499 : 99;
  const working = new Working();
  const [who, other] = sample(random, PEOPLE, 2);
  const item = choice(random, ITEMS);
  let have = integer(random, 5, largest);
  const told = [
    choice(random, [
      `${who} has ${have} ${item}.`,
      `${who} starts with ${have} ${item}.`,
      `At first ${who} has ${have} ${item}.`,
    ]),
  ];
  for (let events = integer(random, 2, 4); events > 0; events -= 1) {
    const event = choice(random, ['more', 'less', 'less', 'boxes', 'times']);
    if (event === 'more') {
      const count = integer(random, 2, largest);
      told.push(
        choice(random, [
          `${who} finds ${count} more.`,
          `Then ${who} buys ${count} more.`,
          `${other} brings ${count} more.`,
        ]),
      );
      have = working.apply(have, '+', count);
    } else if (event === 'less' && have > 6) {
      const count = integer(random, 2, have - 1);
      told.push(
        choice(random, [
          `${who} gives ${count} to ${other}.`,
          `${who} loses ${count}.`,
          `Then ${who} sells ${count}.`,
        ]),
      );
      have = working.apply(have, '-', count);
    } else if (event === 'boxes') {
      const count = integer(random, 2, 9);
      const each = integer(random, 3, hard ? 60 : 20);
      told.push(`${who} buys ${count} ${choice(random, BOXES)} of ${each} ${item}.`);
      have = working.apply(have, '+', working.apply(count, '*', each));
    } else {
      const factor = choice(random, [2, 3]);
      told.push(`Then the number of ${item} ${factor === 2 ? 'doubles' : 'triples'}.`);
      have = working.apply(have, '*', factor);
    }
  }
  told.push(
    choice(random, [`How many ${item} does ${who} have now?`, `How many ${item} are there at the end?`]),
  );
  return { question: told.join(' '), facts: working.facts, answer: `${have}` };
}

/** A list of prices, and what 2 or 3 kinds of things cost together. */
export const table = (random: RandomGenerator, hard: boolean): Draft => purchase(random, hard, false);

/** Same as `table`, and the change from a round sum. */
export const change = (random: RandomGenerator, hard: boolean): Draft => purchase(random, hard, true);

function purchase(random: RandomGenerator, hard: boolean, withChange: boolean): Draft {
  const working = new Working();
  const who = choice(random, PEOPLE);
  const offered = sample(random, ITEMS, integer(random, 3, 5));
  const prices = offered.map(() => integer(random, 2, hard ? 40 : 15));
  const bought = sample(random, [...offered.keys()], integer(random, 2, 3));
  const counts = bought.map(() => integer(random, 2, 9));
  const costs = bought.map((i, k) => working.apply(counts[k]!, '*', prices[i]!));
  const total = working.sum(costs);
  const shop = `Prices: ${offered.map((item, i) => `${item} ${prices[i]}`).join(', ')}.`;
  const basket = list(bought.map((i, k) => `${counts[k]} ${offered[i]}`));
  if (!withChange) {
    const question = `${shop} ${who} buys ${basket}. How much does ${who} pay?`;
    return { question, facts: working.facts, answer: `${total}` };
  }
  const paid = Math.ceil((total + 1) / 50) * 50;
  const answer = working.apply(paid, '-', total);
  const question = `${shop} ${who} buys ${basket} and pays with ${paid}. How much change does ${who} get?`;
  return { question, facts: working.facts, answer: `${answer}` };
}

/** A share of a number, or a price after one or two changes in percent. */
export function percent(random: RandomGenerator, hard: boolean): Draft {
  const working = new Working();
  const part = (of: number, rate: number): number => working.apply(working.apply(of, '*', rate), '/', 100);
  // 5 % of 20 and 10 % of 10 are whole, and so are their multiples.
  const [unit, percents] = choice(random, [
    [20, 5],
    [10, 10],
  ] as const);
  const base = integer(random, 1, hard ? 400 : 100) * unit;
  const rate = integer(random, 1, 100 / percents - 1) * percents;
  if (chance(random, 0.4)) {
    const question = choice(random, [
      `What is ${rate} percent of ${base}?`,
      `What is ${rate}% of ${base}?`,
      `How much is ${rate}% of ${base}?`,
    ]);
    return { question, facts: working.facts, answer: `${part(base, rate)}` };
  }
  const thing = choice(random, ['coat', 'bike', 'phone', 'table', 'lamp', 'watch']);
  const told = [`A ${thing} costs ${base} dollars.`];
  const moves = chance(random, 0.4) ? [rate, choice(random, [10, 20, 50])] : [rate];
  let price = base;
  for (const move of moves) {
    if ((price * move) % 100 !== 0) continue;
    const up = chance(random, 0.4);
    told.push(`The price ${up ? 'rises' : 'falls'} by ${move}%.`);
    price = working.apply(price, up ? '+' : '-', part(price, move));
  }
  told.push('What is the price now?');
  return { question: told.join(' '), facts: working.facts, answer: `${price}` };
}
