import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { choice, integer, sample } from './draw.js';
import { NAMES } from './names.js';
import type { Problem } from './problem.js';

export const COLORS: readonly string[] = 'red blue green yellow black white pink orange purple brown'.split(
  ' ',
);

/** 3 to 5 persons swap balls 2 to 5 times, in the manner of BIG-Bench Hard; a step says who holds which. */
export function shuffledObjects(random: RandomGenerator): Problem {
  const people = sample(random, NAMES, choice(random, [3, 3, 4, 5]));
  const balls = sample(random, COLORS, people.length);
  const state = (): string => people.map((name, i) => `${name} ${balls[i]}`).join(', ');
  const story = [
    `${people.slice(0, -1).join(', ')} and ${people.at(-1)} each hold a ball.`,
    ...people.map((name, i) => `${name} has the ${balls[i]} ball.`),
  ];
  const facts = [state()];

  for (let swaps = integer(random, 2, 5); swaps > 0; swaps -= 1) {
    const [i, j] = sample(random, [...people.keys()], 2);
    [balls[i!], balls[j!]] = [balls[j!]!, balls[i!]!];
    facts.push(state());
    const [a, b] = [people[i!], people[j!]];
    story.push(choice(random, [`${a} and ${b} swap.`, `Then ${a} and ${b} swap.`, `${a} swaps with ${b}.`]));
  }
  const asked = integer(random, 0, people.length - 1);
  const name = people[asked];
  story.push(
    choice(random, [`Which ball does ${name} have at the end?`, `What color does ${name} hold now?`]),
  );
  return { task: 'shuffled_objects', question: story.join(' '), facts, answer: balls[asked]! };
}
