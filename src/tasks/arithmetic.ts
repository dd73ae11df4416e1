import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, choice, integer } from './draw.js';
import type { Problem } from './problem.js';

/** An expression of 2 to 5 operations, bracketed where it must be; its steps are from the innermost out. */
export function arithmetic(random: RandomGenerator, hard: boolean): Problem {
  const largest = hard ? 200 : 50;
  const facts: string[] = [];
  let value = integer(random, 2, largest);
  let expression = `${value}`;

  for (let operations = integer(random, 2, 5); operations > 0; operations -= 1) {
    const operator = choice(random, ['+', '+', '-', '-', '*']);
    let operand = integer(random, 2, operator === '*' ? 9 : largest);
    // Most differences stay positive.
    if (operator === '-' && value > 1 && chance(random, 0.9)) operand = Math.min(operand, value - 1);
    const result = operator === '+' ? value + operand : operator === '-' ? value - operand : value * operand;
    const left = operator === '*' && facts.length > 0 ? `(${expression})` : expression;
    facts.push(`${value} ${operator} ${operand} = ${result}`);
    expression = `${left} ${operator} ${operand}`;
    value = result;
  }
  const question = choice(random, [
    `Compute ${expression}.`,
    `What is ${expression}?`,
    `Evaluate ${expression} step by step.`,
  ]);
  return { task: 'arithmetic', question, facts, answer: `${value}` };
}
