import { hash32 } from 'flinch/internals';
import { extractFacts } from '../tasks/facts.js';
import { generateProblems } from '../tasks/generate-problems.js';
import { ALL_TASKS, type Problem, TASKS } from '../tasks/problem.js';
import { verify } from '../tasks/verify.js';
import { chosenSubsets } from './data-files.js';
import type { BenchProblem, Suite } from './suite.js';

/**
 * The embedded model's problems, made from a seed; a program checks every step of a response. Other seeds ask other
 * questions: each problem has a seed of its own, from that of all and its place. `subsets` may name families that the
 * embedded model was not trained on.
 */
export const tasksSuite: Suite = {
  name: 'tasks',
  judged: 'answer',
  labelledBy: 'program',
  async load({ seed, count, subsets }) {
    const tasks = subsets === null ? TASKS : chosenSubsets(ALL_TASKS, subsets);
    const problems = Array.from({ length: count }, (_, i) =>
      generateProblems({ seed: hash32(seed, i), count: 1, tasks }),
    );
    return problems.flat().map(({ task, question, facts, answer }, i) => ({
      id: `tasks-${seed}-${i}`,
      subset: task,
      question,
      reference: answer,
      given: null,
      facts,
    }));
  },
  messages: ({ question }) => [{ role: 'user', content: question }],
  check(problem, response) {
    return { extracted: extractFacts(response).answer, correct: verify(taskOf(problem), response).right };
  },
  locate: (problem, response) => verify(taskOf(problem), response).span,
};

/** @throws RangeError for a problem of another suite */
function taskOf({ subset, question, reference, facts }: BenchProblem): Problem {
  const task = ALL_TASKS.find((name) => name === subset);
  if (!task || reference === null || !facts) throw new RangeError(`${subset}: is not one of the tasks`);
  return { task, question, facts, answer: reference };
}
