import { join } from 'node:path';
import { Command } from 'commander';
import { answerScore, DEFAULT_GUARD } from 'flinch';
import {
  type Calibration,
  chooseMethod,
  formatTable,
  formatThresholds,
  type MethodChoice,
  MIN_LABELLED,
  MIN_STEPS,
  MIN_TOKENS,
  PROBABILITY_METHODS,
  readKeptCalibration,
  remark,
  type Samples,
  ScoreCollector,
  type ScoredAnswer,
  STEP_RULE_VERSION,
  samplesOf,
  say,
  TokenSteps,
  thresholdsOf,
  UsageError,
  withCalibration,
  writeCalibration,
} from 'flinch/internals';
import type { RunSettings } from '../records/run-settings.js';
import { peekRecords, readRun, readScores } from '../run/run-folder.js';
import type { BenchProblem } from '../suites/suite.js';

type ProbabilityMethod = (typeof PROBABILITY_METHODS)[number];

interface CalibrateOptions {
  readonly output?: string;
  readonly json?: boolean;
}

export function calibrateCommand(): Command {
  return new Command('calibrate')
    .description(
      "Make a calibration of the guard out of a run's right answers, and choose the method and the statistic that judge.",
    )
    .argument('<run>', 'folder of `flinch bench run` with --score all')
    .option('--output <file>', 'file to write (default: calibration.json in the run)')
    .option('--json', 'print the summary as JSON')
    .addHelpText(
      'after',
      `
Nothing is written or scored anew: the scores of the run are used, of ${PROBABILITY_METHODS.join(', ')}, as far as it has them. Right
answers are ordinary; wrong ones help to choose the method, and the statistic of its tokens' scores (the
sum by the root of their number, the mean or the largest), by AUROC, where there are ${MIN_LABELLED} of each. Adv. Pert. is scored over whole answers by the
benchmark, and on the running text by the guard: flinch calibrate calibrates it.
The rates hold for questions like those of the run, at its temperature.

Example:
  $ flinch bench calibrate runs/mine
  $ flinch serve --model ./model.gguf --calibration runs/mine/calibration.json`,
    )
    .action(calibrate);
}

async function calibrate(
  folder: string,
  { output = join(folder, 'calibration.json'), json = false }: CalibrateOptions,
): Promise<void> {
  const { settings, problems } = await readRun(folder);
  const methods = PROBABILITY_METHODS.filter((method) => settings.measures.includes(method));
  if (methods.length === 0)
    throw new UsageError(
      `${folder}: has no scores of ${PROBABILITY_METHODS.join(', ')}, which a calibration is made of`,
    );
  const answers = await answersOf(folder, problems, methods);
  const choice = choose(answers, methods);
  const collector = new ScoreCollector(methods, choice?.chosen.statistic);
  for (const { right, answer } of answers) collector.add(answer, right ? answer.steps.length : 0);
  const { counts } = collector;
  if (counts.tokens < MIN_TOKENS || counts.steps < MIN_STEPS)
    throw new UsageError(
      `${folder}: ${counts.tokens} tokens and ${counts.steps} steps of right answers are too few; at least ${MIN_TOKENS} and ${MIN_STEPS} are needed: repeat the run with more questions, such as a larger --limit`,
    );
  const calibration: Calibration = {
    stepRule: STEP_RULE_VERSION,
    settings: {},
    collected: { answers: 'right', ...counts, ...samplingOf(settings) },
    ...collector.distributions(),
  };
  const right = answers.filter((answer) => answer.right).length;
  const wrong = answers.length - right;
  const before = await readKeptCalibration(output);
  await writeCalibration(output, withCalibration(before, settings.model, calibration, choice?.chosen.method));
  const thresholds = thresholdsOf(calibration);
  if (json) {
    say(
      `${JSON.stringify({ output, model: settings.model, collected: calibration.collected, choice, thresholds })}\n`,
    );
    return;
  }
  if (choice) say(`${formatChoice(choice)}\n\n`);
  else
    remark(
      `${right} right and ${wrong} wrong answers are too few to choose the method and the statistic by: ${MIN_LABELLED} of each are needed`,
    );
  if (settings.measures.some((name) => name.startsWith('adversarial')))
    remark(
      'Adv. Pert. is not in it: flinch calibrate makes a calibration of what a guard scores on the running text',
    );
  // The rank of a score above n ordinary ones is n / (n + 1).
  const needed = Math.ceil(1 / DEFAULT_GUARD.rate) - 1;
  if (right < needed)
    remark(
      `${right} right answers are too few to judge whole answers at the guard's rate of ${100 * DEFAULT_GUARD.rate} %, which needs ${needed}: verdicts say too_few_answers; steps are judged`,
    );
  say(`${counts.responses} answers; of the right ones ${counts.tokens} tokens and ${counts.steps} steps.`);
  say(` Scores above these thresholds raise an alarm:\n${formatThresholds(thresholds)}\n${output}\n`);
}

const samplingOf = ({ temperature, topP, seed }: RunSettings) => ({ temperature, topP, topK: 0, seed });

interface CheckedAnswer {
  readonly right: boolean;
  readonly answer: ScoredAnswer;
}

/** Answers in the order of the problems, cut into steps as the guard does it. */
async function answersOf(
  folder: string,
  problems: readonly Pick<BenchProblem, 'id'>[],
  methods: readonly ProbabilityMethod[],
): Promise<CheckedAnswer[]> {
  const { responses, checks } = await peekRecords(folder);
  const found = new Map<string, CheckedAnswer>();
  for await (const { id, tokens } of readScores(folder)) {
    const [response, check] = [responses.get(id), checks.get(id)];
    if (!response || !check || check.correct === null) continue;
    const cutter = new TokenSteps();
    const steps = [...response.tokenTexts.flatMap((text) => cutter.push(text)), ...cutter.end()];
    const scores = response.tokenTexts.map((_, i) => ({
      scores: Object.fromEntries(
        methods.flatMap((method) => {
          const score = tokens[method]?.[i];
          return score == null ? [] : [[method, score]];
        }),
      ),
    }));
    const texts = response.tokenTexts.map((text) => ({ text }));
    found.set(id, { right: check.correct, answer: { tokens: texts, scores, steps } });
  }
  return problems.flatMap(({ id }) => found.get(id) ?? []);
}

/** `null` where there are too few answers of a label. */
function choose(
  answers: readonly CheckedAnswer[],
  methods: readonly ProbabilityMethod[],
): MethodChoice | null {
  const right = answers.filter((answer) => answer.right).length;
  if (Math.min(right, answers.length - right) < MIN_LABELLED) return null;
  const rated = answers
    .filter(({ answer }) => answer.steps.length > 0)
    .map(({ right, answer }) => ({
      right,
      scores: new Map(methods.map((method) => [method, inEachWay(samplesOf(answer, method))])),
    }));
  return chooseMethod(rated, methods);
}

const inEachWay = ({ scored }: Samples) => ({
  sum: answerScore(scored, 'sum'),
  mean: answerScore(scored, 'mean'),
  max: answerScore(scored, 'max'),
});

function formatChoice({ right, wrong, rows, unseen, chosen }: MethodChoice): string {
  const show = ({ value, low, high }: MethodChoice['unseen']['lead']): string =>
    `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
  return [
    `${wrong} wrong and ${right} right answers. How well scores of answers tell them apart, with 95 % intervals:`,
    formatTable([
      ['method', 'statistic', 'AUROC'],
      ...rows.map(({ method, statistic, auroc }) => [method, statistic, show(auroc)]),
    ]),
    `On answers that the choice does not know (cross-validation): ${show(unseen.any)}; with sums alone ${show(unseen.sum)}; lead ${show(unseen.lead)}.`,
    `Answers are judged by ${chosen.method}, with the ${chosen.statistic} of their scores.`,
  ].join('\n');
}
