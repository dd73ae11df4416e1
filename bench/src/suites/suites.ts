import { z } from 'zod';
import { equivalenceSchema } from '../answers/equivalence.js';
import { bbhSuite } from './bbh.js';
import { factscoreSuite } from './factscore.js';
import { gsm8kSuite } from './gsm8k.js';
import { mathSuite } from './math.js';
import { NO_TASK, ownSuite } from './own/own.js';
import type { Questions } from './own/problems.js';
import type { TaskSettings } from './own/task.js';
import { processbenchSuite } from './processbench.js';
import { PROMPTS_VERSION } from './prompts.js';
import { questionsSuite } from './questions.js';
import type { Suite, SuiteName } from './suite.js';
import { tasksSuite } from './tasks.js';

/** Settings of the suites that no source prescribes; a run records them all. */
export const suiteSettingsSchema = z.strictObject({
  prompts: z.literal(PROMPTS_VERSION).default(PROMPTS_VERSION),
  math: z
    .strictObject({
      /** Whether problems of MATH stay that hold the source of a drawing, [asy]. */
      drawings: z.boolean().default(false),
      equivalence: equivalenceSchema.prefault({}),
    })
    .prefault({}),
});
export type SuiteSettings = z.output<typeof suiteSettingsSchema>;
export const DEFAULT_SUITE_SETTINGS: SuiteSettings = suiteSettingsSchema.parse({});

/** @param own the questions of `own`, or its settings alone for a run that is read back */
export const createSuites = (
  settings: SuiteSettings,
  own: Pick<Questions, 'settings'> & Partial<Questions> = { settings: NO_TASK },
): Readonly<Record<SuiteName, Suite>> => ({
  math: mathSuite(settings.math),
  bbh: bbhSuite,
  gsm8k: gsm8kSuite,
  processbench: processbenchSuite,
  factscore: factscoreSuite,
  tasks: tasksSuite,
  questions: questionsSuite,
  own: ownSuite(own.settings, own.problems),
});

/** The suite of a run. */
export const suiteOf = ({
  suite,
  suiteSettings,
  task,
}: {
  readonly suite: SuiteName;
  readonly suiteSettings: SuiteSettings;
  readonly task?: TaskSettings;
}): Suite => createSuites(suiteSettings, task && { settings: task })[suite];

/** Suites with the default settings. */
export const suites: Readonly<Record<SuiteName, Suite>> = createSuites(DEFAULT_SUITE_SETTINGS);
