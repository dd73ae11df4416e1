import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, choice, integer, sample } from '../draw.js';
import { COLORS, PEOPLE } from './word-problems.js';
import { type Draft, list, Working } from './working.js';

/** 3 to 5 people, each compared with one before. */
export function heights(random: RandomGenerator, hard: boolean): Draft {
  const working = new Working();
  const people = sample(random, PEOPLE, integer(random, 3, 5));
  const tall = [integer(random, 120, 190)];
  const told = [`${people[0]} is ${tall[0]} cm tall.`];
  for (const [i, name] of people.entries()) {
    if (i === 0) continue;
    const other = integer(random, 0, i - 1);
    const by = integer(random, 2, hard ? 40 : 15);
    const taller = chance(random, 0.5);
    told.push(`${name} is ${by} cm ${taller ? 'taller' : 'shorter'} than ${people[other]}.`);
    tall.push(working.apply(tall[other]!, taller ? '+' : '-', by, name));
  }
  const most = Math.max(...tall);
  if (chance(random, 0.4) && tall.indexOf(most) === tall.lastIndexOf(most)) {
    const answer = people[tall.indexOf(most)]!;
    return { question: `${told.join(' ')} Who is the tallest?`, facts: working.facts, answer };
  }
  const question = `${told.join(' ')} How tall is ${people.at(-1)}?`;
  return { question, facts: working.facts, answer: `${tall.at(-1)}` };
}

/** Same as `heights`, with ages and multiples of them. */
export function ages(random: RandomGenerator): Draft {
  const working = new Working();
  const people = sample(random, PEOPLE, integer(random, 3, 4));
  const old = [integer(random, 8, 30)];
  const told = [`${people[0]} is ${old[0]} years old.`];
  for (const [i, name] of people.entries()) {
    if (i === 0) continue;
    const other = integer(random, 0, i - 1);
    const by = integer(random, 2, 7);
    const [text, operator, right] = choice(random, [
      [`${by} years older than`, '+', by],
      // All ages are at least one.
      ...(old[other]! > by ? ([[`${by} years younger than`, '-', by]] as const) : []),
      ['twice as old as', '*', 2],
    ] as const);
    told.push(`${name} is ${text} ${people[other]}.`);
    old.push(working.apply(old[other]!, operator, right, name));
  }
  const question = `${told.join(' ')} How old is ${people.at(-1)}?`;
  return { question, facts: working.facts, answer: `${old.at(-1)}` };
}

const PLACES = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth'] as const;

/** 4 to 6 people join a line, each beside someone who is in it; a line of the answer is that line. */
export function ordering(random: RandomGenerator): Draft {
  const [first, ...others] = sample(random, PEOPLE, integer(random, 4, 6)) as [string, ...string[]];
  const told = [`${first} stands in a line.`];
  const facts: string[] = [];
  let line = [first];
  for (const name of others) {
    const at = integer(random, 0, line.length - 1);
    const behind = chance(random, 0.5);
    told.push(`${name} stands right ${behind ? 'behind' : 'in front of'} ${line[at]}.`);
    line = line.toSpliced(behind ? at + 1 : at, 0, name);
    facts.push(line.join(', '));
  }
  const place = integer(random, 0, line.length - 1);
  const text = place === line.length - 1 && chance(random, 0.5) ? 'last' : PLACES[place]!;
  return { question: `${told.join(' ')} Who is ${text}?`, facts, answer: line[place]! };
}

/** 3 to 6 people, each of whom always lies or never does, and what each says of those before. */
export function truth(random: RandomGenerator): Draft {
  const people = sample(random, PEOPLE, integer(random, 3, 6));
  const honest: boolean[] = [];
  const told: string[] = [];
  for (const [i, name] of people.entries()) {
    const heads = chance(random, 0.5);
    if (i === 0) {
      honest.push(heads);
      told.push(`${name} ${heads ? 'tells the truth' : 'lies'}.`);
      continue;
    }
    const [a, b] = sample(random, [...honest.keys()], 2) as [number, number | undefined];
    if (b !== undefined && chance(random, 0.4)) {
      told.push(`${name} says ${people[a]} and ${people[b]} are ${heads ? 'alike' : 'different'}.`);
      honest.push((honest[a] === honest[b]) === heads);
    } else {
      told.push(`${name} says ${people[a]} ${heads ? 'tells the truth' : 'lies'}.`);
      honest.push(honest[a] === heads);
    }
  }
  const facts = people.map((name, i) => `${name} ${honest[i] ? 'tells the truth' : 'lies'}`);
  const question = `${told.join(' ')} Does ${people.at(-1)} tell the truth?`;
  return { question, facts, answer: honest.at(-1) ? 'Yes' : 'No' };
}

/** 3 or 4 people swap balls 2 to 4 times; a line says what the two have after it. */
export function tracking(random: RandomGenerator): Draft {
  const people = sample(random, PEOPLE, integer(random, 3, 4));
  const balls = sample(random, COLORS, people.length);
  const told = [`${list(people.map((name, i) => `${name} has the ${balls[i]} ball`))}.`];
  const facts: string[] = [];
  for (let swaps = integer(random, 2, 4); swaps > 0; swaps -= 1) {
    const [a, b] = sample(random, [...people.keys()], 2) as [number, number];
    [balls[a], balls[b]] = [balls[b]!, balls[a]!];
    told.push(`${people[a]} and ${people[b]} swap.`);
    facts.push(`${people[a]} ${balls[a]}, ${people[b]} ${balls[b]}`);
  }
  const asked = integer(random, 0, people.length - 1);
  const question = `${told.join(' ')} Which ball does ${people[asked]} have now?`;
  return { question, facts, answer: balls[asked]! };
}
