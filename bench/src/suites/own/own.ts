import { chosenSubsets } from '../data-files.js';
import { givenStepSpan, responseText } from '../processbench.js';
import { pythonShuffle } from '../python-shuffle.js';
import type { BenchProblem, Suite } from '../suite.js';
import { checkAnswer, isCheck } from './answer-checks.js';
import { checkByCommand } from './check-command.js';
import { keyOf, messagesOf } from './own-problems.js';
import { COMMAND, type TaskSettings } from './task.js';

/**
 * Questions of the user's own. Rows are shuffled by the seed, so that the first of them are a fair sample.
 * @param all of the file; none for a run that is read back
 */
export function ownSuite(settings: TaskSettings, all: readonly BenchProblem[] = []): Suite {
  const { check } = settings;
  return {
    name: 'own',
    judged: 'answer',
    labelledBy: 'labels',
    async load({ seed, subsets }) {
      const chosen = chosenSubsets([...new Set(all.map(({ subset }) => subset))], subsets);
      return pythonShuffle(
        all.filter(({ subset }) => chosen.includes(subset)),
        seed,
      );
    },
    messages: (problem) => messagesOf(problem, settings),
    completion: {
      prompt: (problem) =>
        // A text has no earlier messages.
        messagesOf({ ...problem, ...(problem.row && { row: { ...problem.row, messages: null } }) }, settings)
          .map(({ role, content }) => (role === 'user' ? `Question: ${content}\nAnswer:` : ` ${content}\n\n`))
          .join(''),
      stop: ['\n'],
    },
    check(problem, response) {
      const { given, row } = problem;
      if (given && row?.right != null && response === responseText(given))
        return { extracted: null, correct: row.right === 'unsure' ? null : row.right, by: 'labels' };
      const how = row?.check ?? check;
      if (!isCheck(how)) return null;
      return { ...checkAnswer(response, keyOf(problem), how), by: 'rules' };
    },
    ...(check.startsWith(COMMAND) && {
      checkBy: (problem, response, signal) =>
        checkByCommand(check.slice(COMMAND.length), problem, response, signal),
    }),
    locate({ given }, response) {
      if (!given || given.firstWrong === null || response !== responseText(given)) return null;
      return givenStepSpan(given, given.firstWrong);
    },
  };
}

/** For a run of another suite. */
export const NO_TASK: TaskSettings = { name: 'own', check: 'kind', prompt: null, columns: {} };
