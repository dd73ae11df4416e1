import { extractFacts } from '../tasks/facts.js';
import { generateProblems } from '../tasks/generate.js';
import { type Problem, TASKS } from '../tasks/problem.js';
import { verify } from '../tasks/verify.js';
import { chosenSubsets } from './data-files.js';
import type { BenchProblem, Suite } from './suite.js';

/** The embedded reasoner's problems, made from a seed; a program checks every step of a response. */
export const tasksSuite: Suite = {
  name: 'tasks',
  judged: 'answer',
  async load({ seed, count, subsets }) {
    const tasks = chosenSubsets(TASKS, subsets);
    return generateProblems({ seed, count, tasks }).map(({ task, question, facts, answer }, i) => ({
      id: `tasks-${seed + i}`,
      subset: task,
      question,
      reference: answer,
      given: null,
      facts,
    }));
  },
  messages: ({ question }) => [{ role: 'user', content: question }],
  check(problem, response) {
    const task = taskOf(problem);
    return { extracted: extractFacts(task.task, response).answer, correct: verify(task, response).right };
  },
  locate: (problem, response) => verify(taskOf(problem), response).span,
};

/** @throws RangeError for a problem of another suite */
function taskOf({ subset, question, reference, facts }: BenchProblem): Problem {
  const task = TASKS.find((name) => name === subset);
  if (!task || reference === null || !facts) throw new RangeError(`${subset}: is none of the tasks`);
  return { task, question, facts, answer: reference };
}
