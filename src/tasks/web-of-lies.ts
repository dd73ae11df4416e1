import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, integer, sample } from './draw.js';
import { NAMES } from './names.js';
import type { Problem } from './problem.js';

/** 3 to 6 persons, of whom each says of the one before whether they lie, in the manner of BIG-Bench Hard. */
export function webOfLies(random: RandomGenerator): Problem {
  const people = sample(random, NAMES, integer(random, 3, 6));
  const story: string[] = [];
  const facts: string[] = [];
  let truthful = true;
  for (const [i, name] of people.entries()) {
    const heads = chance(random, 0.5);
    const claim = heads ? 'tells the truth' : 'lies';
    story.push(i === 0 ? `${name} ${claim}.` : `${name} says ${people[i - 1]} ${claim}.`);
    truthful = i === 0 ? heads : truthful === heads;
    facts.push(`${name} ${truthful ? 'truth' : 'lie'}`);
  }
  story.push(`Does ${people.at(-1)} tell the truth?`);
  return { task: 'web_of_lies', question: story.join(' '), facts, answer: truthful ? 'Yes' : 'No' };
}
