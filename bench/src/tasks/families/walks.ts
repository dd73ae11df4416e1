import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, choice, integer } from '../draw.js';
import { type Draft, Working } from './working.js';

/** Clockwise. */
const HEADINGS = ['north', 'east', 'south', 'west'] as const;
const TURNS = [
  { text: 'Turn right.', quarters: 1 },
  { text: 'Turn around.', quarters: 2 },
  { text: 'Turn left.', quarters: 3 },
] as const;

interface Move {
  readonly text: string;
  readonly steps: number;
  readonly quarters: number;
}

function moves(random: RandomGenerator, hard: boolean): Move[] {
  return Array.from({ length: integer(random, 3, 6) }, () => {
    if (chance(random, 0.4)) return { ...choice(random, TURNS), steps: 0 };
    const steps = integer(random, 2, hard ? 50 : 20);
    return { text: choice(random, [`Take ${steps} steps.`, `Walk ${steps} steps.`]), steps, quarters: 0 };
  });
}

const START = 'You stand at (0, 0) facing north.';

/** 3 to 6 instructions on a grid; a line says where one is and looks. */
export function walk(random: RandomGenerator, hard: boolean): Draft {
  const path = moves(random, hard);
  let [x, y, heading] = [0, 0, 0];
  const facts = path.map(({ steps, quarters }) => {
    heading = (heading + quarters) % 4;
    if (heading % 2 === 0) y += heading === 0 ? steps : -steps;
    else x += heading === 1 ? steps : -steps;
    return `(${x}, ${y}) ${HEADINGS[heading]}`;
  });
  const question = [START, ...path.map(({ text }) => text), 'Where are you?'].join(' ');
  return { question, facts, answer: `(${x}, ${y})` };
}

/** Same as `walk`, but asks for the length of the way. */
export function distance(random: RandomGenerator, hard: boolean): Draft {
  const path = moves(random, hard);
  const lengths = path.map(({ steps }) => steps).filter((steps) => steps > 0);
  if (lengths.length < 2) return distance(random, hard);
  const working = new Working();
  const answer = working.sum(lengths);
  const question = [START, ...path.map(({ text }) => text), 'How many steps have you taken in all?'].join(
    ' ',
  );
  return { question, facts: working.facts, answer: `${answer}` };
}
