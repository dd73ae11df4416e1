import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, choice, integer, sample } from '../draw.js';
import { COLORS } from './word-problems.js';
import type { Draft } from './working.js';

const upTo = (largest: number): number[] => Array.from({ length: largest }, (_, i) => i + 1);

/** 4 to 7 numbers in order; a line takes the next one out. */
export function sorting(random: RandomGenerator, hard: boolean): Draft {
  const numbers = sample(random, upTo(hard ? 999 : 99), integer(random, 4, 7));
  const down = chance(random, 0.3);
  const facts: string[] = [];
  const sorted: number[] = [];
  let rest = numbers;
  while (rest.length > 1) {
    const next = down ? Math.max(...rest) : Math.min(...rest);
    sorted.push(next);
    rest = rest.filter((number) => number !== next);
    facts.push(`${down ? 'largest' : 'smallest'} ${next}, left ${rest.join(', ')}`);
  }
  const question = down
    ? `Sort ${numbers.join(', ')} from largest to smallest.`
    : choice(random, [`Sort ${numbers.join(', ')}.`, `Sort ${numbers.join(', ')} from smallest to largest.`]);
  return { question, facts, answer: [...sorted, ...rest].join(', ') };
}

/** Elements that are in both of two lists, or only in the first; a line looks one number up. */
export function sets(random: RandomGenerator, hard: boolean): Draft {
  const pool = sample(random, upTo(hard ? 99 : 30), 10);
  const first = sample(random, pool, integer(random, 3, 6));
  const second = sample(random, pool, integer(random, 3, 6));
  const both = chance(random, 0.6);
  const facts = first.map((number) => `${number} ${second.includes(number) ? 'yes' : 'no'}`);
  const kept = first.filter((number) => second.includes(number) === both);
  const question = `A is ${first.join(', ')}. B is ${second.join(', ')}. ${
    both ? 'Which numbers of A are in B?' : 'Which numbers of A are not in B?'
  }`;
  return { question, facts, answer: kept.join(', ') || 'none' };
}

/** How often one color or two are in a list; a line counts on. */
export function counting(random: RandomGenerator): Draft {
  const colors = sample(random, COLORS, 4);
  const beads = Array.from({ length: integer(random, 5, 10) }, () => choice(random, colors));
  const asked = colors.slice(0, integer(random, 1, 2));
  let seen = 0;
  const facts = beads.map((color) => {
    if (asked.includes(color)) seen += 1;
    return `${color} ${seen}`;
  });
  const question = `A chain has these beads: ${beads.join(', ')}. How many are ${asked.join(' or ')}?`;
  return { question, facts, answer: `${seen}` };
}

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

/** 2 to 4 edits of a row of letters; a line is the row after each. */
export function strings(random: RandomGenerator, hard: boolean): Draft {
  let row = sample(random, LETTERS, integer(random, 4, hard ? 7 : 5));
  const told = [`Start with ${row.join(' ')}.`];
  const facts: string[] = [];
  for (let edits = integer(random, 2, 4); edits > 0; edits -= 1) {
    const fresh = choice(
      random,
      LETTERS.filter((letter) => !row.includes(letter)),
    );
    const [old] = sample(random, row, 1) as [string];
    const edit = choice(random, EDITS.slice(row.length > 3 ? 0 : 1));
    const [text, next] = edit(row, old, fresh);
    row = next;
    told.push(text);
    facts.push(row.join(' '));
  }
  return { question: `${told.join(' ')} What is the result?`, facts, answer: row.join(' ') };
}

const EDITS: readonly ((row: string[], old: string, fresh: string) => readonly [string, string[]])[] = [
  (row, old) => [`Remove ${old}.`, row.filter((letter) => letter !== old)],
  (row) => ['Reverse it.', row.toReversed()],
  (row, _, fresh) => [`Add ${fresh} at the end.`, [...row, fresh]],
  (row, _, fresh) => [`Add ${fresh} at the front.`, [fresh, ...row]],
  (row, old, fresh) => [
    `Replace ${old} with ${fresh}.`,
    row.map((letter) => (letter === old ? fresh : letter)),
  ],
  (row) => ['Swap the first and the last.', [row.at(-1)!, ...row.slice(1, -1), row[0]!]],
  (row) => ['Move the first to the end.', [...row.slice(1), row[0]!]],
];
