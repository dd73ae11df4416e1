import { bbhSuite } from './bbh.js';
import { factscoreSuite } from './factscore.js';
import { gsm8kSuite } from './gsm8k.js';
import { mathSuite } from './math.js';
import { NO_TASK, ownSuite } from './own/own.js';
import type { TaskSettings } from './own/task.js';
import { processbenchSuite } from './processbench.js';
import { questionsSuite } from './questions.js';
import type { Suite, SuiteName } from './suite.js';
import { tasksSuite } from './tasks.js';

/** The suites by name; `own` without a question. */
export const suites: Readonly<Record<SuiteName, Suite>> = {
  math: mathSuite,
  bbh: bbhSuite,
  gsm8k: gsm8kSuite,
  processbench: processbenchSuite,
  factscore: factscoreSuite,
  tasks: tasksSuite,
  questions: questionsSuite,
  own: ownSuite(NO_TASK),
};

/** The suite of a run that is read back. */
export const suiteOf = ({
  suite,
  task,
}: {
  readonly suite: SuiteName;
  readonly task?: TaskSettings;
}): Suite => (task ? ownSuite(task) : suites[suite]);
