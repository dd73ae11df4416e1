import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, choice, integer, sample } from '../draw.js';
import { BOXES, ITEMS, PEOPLE } from './word-problems.js';
import { type Draft, type Operator, Working } from './working.js';

/** An ordinary question of one operation, as a sum, in words, or as a story. */
export function oneStep(random: RandomGenerator, hard: boolean): Draft {
  const operator = choice<Operator>(random, ['+', '-', '*', '/']);
  const [left, right] = operands(random, hard, operator);
  const form = choice(random, [sum, sum, story, inWords]);
  const working = new Working();
  const result = working.apply(left, operator, right);
  return { question: form(random, left, operator, right), facts: working.facts, answer: `${result}` };
}

function operands(random: RandomGenerator, hard: boolean, operator: Operator): [number, number] {
  const largest = hard ? 999 : choice(random, [10, 20, 99]);
  if (operator === '+') return [integer(random, 0, largest), integer(random, 0, largest)];
  if (operator === '-') {
    const left = integer(random, 1, largest);
    return [left, chance(random, 0.9) ? integer(random, 0, left) : integer(random, 0, largest)];
  }
  const right = integer(random, operator === '/' ? 2 : 0, 12);
  const left = integer(random, 0, chance(random, 0.6) ? 12 : hard ? 199 : 60);
  return operator === '*' ? [left, right] : [left * right, right];
}

const WORDS: Readonly<Record<Operator, readonly string[]>> = {
  '+': ['+', '+', 'plus'],
  '-': ['-', '-', 'minus'],
  '*': ['*', '*', 'times', 'x'],
  '/': ['/', '/', 'divided by'],
};

function sum(random: RandomGenerator, left: number, operator: Operator, right: number): string {
  const word = choice(random, WORDS[operator]);
  const text =
    word === operator && chance(random, 0.2) ? `${left}${word}${right}` : `${left} ${word} ${right}`;
  return choice(random, [
    `What is ${text}`,
    `what is ${text}?`,
    `What is ${text}?`,
    `What is ${text}?`,
    `What's ${text}?`,
    `How much is ${text}?`,
    `Compute ${text}.`,
    `Calculate ${text}.`,
    `${text} = ?`,
    text,
  ]);
}

function inWords(random: RandomGenerator, left: number, operator: Operator, right: number): string {
  const other = left * right;
  return choice(
    random,
    {
      '+': [
        `What is the sum of ${left} and ${right}?`,
        `Add ${left} and ${right}.`,
        `What is ${right} more than ${left}?`,
      ],
      '-': [
        `What is the difference between ${left} and ${right}?`,
        `Subtract ${right} from ${left}.`,
        `What is ${right} less than ${left}?`,
      ],
      '*': [
        `What is the product of ${left} and ${right}?`,
        `Multiply ${left} by ${right}.`,
        ...(right === 2 ? [`What is double ${left}?`, `What is twice ${left}?`] : []),
      ],
      '/': [
        `Divide ${left} by ${right}.`,
        `How many times does ${right} go into ${left}?`,
        ...(right === 2 && other > 0 ? [`What is half of ${left}?`, `What is half of ${left}?`] : []),
      ],
    }[operator],
  );
}

function story(random: RandomGenerator, left: number, operator: Operator, right: number): string {
  const [who, other] = sample(random, PEOPLE, 2);
  const item = choice(random, ITEMS);
  const boxes = choice(random, BOXES);
  return choice(
    random,
    {
      '+': [
        `${who} has ${left} ${item} and buys ${right} more. How many ${item} does ${who} have now?`,
        `${who} has ${left} ${item}. ${other} gives ${who} ${right} more. How many ${item} does ${who} have?`,
        `${who} has ${left} ${item} and ${other} has ${right}. How many ${item} do they have together?`,
        `There are ${left} ${item} on a table. ${who} adds ${right}. How many ${item} are there now?`,
        `${who} finds ${left} ${item} and then ${right} more. How many ${item} did ${who} find?`,
      ],
      '-': [
        `${who} has ${left} ${item} and gives ${right} to ${other}. How many ${item} are left?`,
        `${who} had ${left} ${item} and lost ${right}. How many ${item} does ${who} have left?`,
        `There are ${left} ${item} in a box. ${who} takes out ${right}. How many ${item} are left in the box?`,
        `${who} has ${left} ${item} and eats ${right}. How many ${item} are left?`,
        `${who} has ${left} ${item}. ${other} has ${right}. How many more ${item} does ${who} have than ${other}?`,
      ],
      '*': [
        `There are ${left} ${boxes} with ${right} ${item} each. How many ${item} are there?`,
        `${who} buys ${left} ${boxes} of ${right} ${item}. How many ${item} does ${who} have?`,
        `${who} reads ${left} pages a day. How many pages does ${who} read in ${right} days?`,
        `One ticket costs ${left} dollars. How much do ${right} tickets cost?`,
      ],
      '/': [
        `${who} shares ${left} ${item} equally among ${right} friends. How many ${item} does each friend get?`,
        `${who} puts ${left} ${item} into ${right} ${boxes} equally. How many ${item} are in each?`,
        `${left} ${item} are shared by ${right} people. How many ${item} does each get?`,
      ],
    }[operator],
  );
}
