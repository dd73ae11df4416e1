/**
 * Writes what a model is trained on, as JSON Lines of `prompt` and `response`:
 *
 *     node models/training/write-examples.js SEED COUNT [FAMILIES] > examples.jsonl
 *
 * FAMILIES, separated by commas, are drawn three times as often as the others.
 */
import { readFileSync } from 'node:fs';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mersenne } from 'pure-rand/generator/mersenne';
import { generateProblems } from '#bench/tasks/generate-problems.js';
import { TASKS } from '#bench/tasks/problem.js';
import { IN_WORDS, plainSolution, wordedSolution } from '#bench/tasks/solution.js';
import { otherQuestion, REFUSAL } from './other-questions.js';

/** Share of questions that are no problems, and of problems whose lines open with words. */
const OTHER = 0.06;
const WORDED = 0.25;

const [seed = 0, count = 0] = process.argv.slice(2, 4).map(Number);
const often = (process.argv[4]?.split(',') ?? []).map((name) => {
  const task = TASKS.find((known) => known === name);
  if (!task) throw new RangeError(`"${name}" is not one of the families ${TASKS.join(', ')}`);
  return task;
});
const drawn = [...TASKS, ...often, ...often];

/** Questions that no model is trained on. */
const held = new Set(
  readFileSync(new URL('ordinary.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).question),
);

for (let written = 0, i = 0; written < count; i += 1) {
  const example = exampleOf(seed + i);
  if (held.has(example.prompt)) continue;
  process.stdout.write(`${JSON.stringify(example)}\n`);
  written += 1;
}

/** @param {number} i */
function exampleOf(i) {
  const random = mersenne(~i);
  if (uniformFloat64(random) < OTHER) return { prompt: otherQuestion(random), response: REFUSAL };
  const [problem] = generateProblems({ seed: i, count: 1, tasks: drawn });
  if (!problem) throw new RangeError('no problem');
  if (uniformFloat64(random) < WORDED) {
    return { prompt: problem.question + IN_WORDS, response: wordedSolution(problem, random) };
  }
  return { prompt: problem.question, response: plainSolution(problem) };
}
