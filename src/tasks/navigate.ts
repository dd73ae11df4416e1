import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { choice, integer } from './draw.js';
import type { Problem } from './problem.js';

/** Clockwise. */
export const HEADINGS = ['north', 'east', 'south', 'west'] as const;

const TURNS = [
  { text: 'Turn right.', quarters: 1 },
  { text: 'Turn around.', quarters: 2 },
  { text: 'Turn left.', quarters: 3 },
] as const;

/** 3 to 6 instructions on a grid, in the manner of BIG-Bench Hard; a step says where one is and looks. */
export function navigate(random: RandomGenerator): Problem {
  const story = ['You stand at (0, 0) facing north.'];
  const facts: string[] = [];
  let [x, y, heading] = [0, 0, 0];
  for (let instructions = integer(random, 3, 6); instructions > 0; instructions -= 1) {
    const turn = choice(random, [null, null, ...TURNS]);
    if (turn) {
      heading = (heading + turn.quarters) % 4;
      story.push(turn.text);
    } else {
      const steps = integer(random, 1, 20);
      if (heading % 2 === 0) y += heading === 0 ? steps : -steps;
      else x += heading === 1 ? steps : -steps;
      story.push(
        choice(random, [`Take ${steps} steps.`, `Walk ${steps} steps.`, `Go ${steps} steps forward.`]),
      );
    }
    facts.push(`(${x}, ${y}) ${HEADINGS[heading]}`);
  }
  story.push('Where are you?');
  return { task: 'navigate', question: story.join(' '), facts, answer: `(${x}, ${y})` };
}
