import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { choice, integer, sample } from './draw.js';
import { NAMES } from './names.js';
import type { Problem } from './problem.js';

const ITEMS: readonly string[] =
  'apples pens coins books shells cards beads marbles stamps cookies stones tickets'.split(' ');
const BOXES: readonly string[] = 'boxes bags crates packs jars'.split(' ');

/** Less than this is not taken from: it would soon be nothing. */
const FEW = 6;

/** A story of 2 to 5 events that each change how many things somebody has, in the manner of GSM8K. */
export function wordProblem(random: RandomGenerator, hard: boolean): Problem {
  const largest = hard ? 499 : 99;
  const largestBox = hard ? 99 : 30;
  const [who, ...others] = sample(random, NAMES, NAMES.length);
  const item = choice(random, ITEMS);
  let have = integer(random, 5, largest);
  const story = [
    choice(random, [
      `${who} has ${have} ${item}.`,
      `${who} starts with ${have} ${item}.`,
      `At first ${who} has ${have} ${item}.`,
    ]),
  ];
  const facts: string[] = [];
  const step = (left: number, operator: '+' | '-' | '*', right: number): number => {
    const result = operator === '+' ? left + right : operator === '-' ? left - right : left * right;
    facts.push(`${left} ${operator} ${right} = ${result}`);
    return result;
  };

  for (let events = integer(random, 2, 5); events > 0; events -= 1) {
    const event = choice(random, ['more', 'less', 'less', 'boxes', 'times']);
    if (event === 'more') {
      const count = integer(random, 3, largest);
      story.push(
        choice(random, [
          `${who} finds ${count} more.`,
          `Then ${who} buys ${count} more.`,
          `A friend brings ${count} more.`,
        ]),
      );
      have = step(have, '+', count);
    } else if (event === 'less' && have > FEW) {
      const count = integer(random, 2, have - 1);
      story.push(
        choice(random, [
          `${who} gives ${count} to ${choice(random, others)}.`,
          `${who} loses ${count}.`,
          `Then ${who} sells ${count}.`,
        ]),
      );
      have = step(have, '-', count);
    } else if (event === 'boxes') {
      const count = integer(random, 2, 9);
      const each = integer(random, 3, largestBox);
      const boxes = `${count} ${choice(random, BOXES)}`;
      story.push(
        choice(random, [
          `${who} buys ${boxes} of ${each} ${item}.`,
          `Then ${boxes} arrive with ${each} ${item} each.`,
        ]),
      );
      have = step(have, '+', step(count, '*', each));
    } else {
      const factor = choice(random, [2, 3]);
      story.push(`Then the number of ${item} ${factor === 2 ? 'doubles' : 'triples'}.`);
      have = step(have, '*', factor);
    }
  }
  const ending = choice(random, [
    `How many ${item} does ${who} have now?`,
    `How many ${item} are there at the end?`,
    `Find the final number of ${item}.`,
  ]);
  return { task: 'word_problem', question: [...story, ending].join(' '), facts, answer: `${have}` };
}
