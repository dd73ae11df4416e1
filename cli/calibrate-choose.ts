import { readFile } from 'node:fs/promises';
import { from, fromEvent, lastValueFrom, mergeMap, takeUntil, tap, toArray } from 'rxjs';
import { z } from 'zod';
import { fingerprint } from '../src/checkpoint/fingerprint.js';
import type { Engine } from '../src/engine/engine.js';
import { EngineError } from '../src/engine/errors.js';
import { UsageError } from '../src/files/errors.js';
import { parseJsonLines } from '../src/files/json-text.js';
import {
  calibrationFileOf,
  calibrationOf,
  readKeptCalibration,
  writeCalibration,
} from '../src/risk/calibration-file.js';
import {
  chooseMethod,
  type MethodChoice,
  MIN_LABELLED,
  type RatedAnswer,
} from '../src/risk/method-choice.js';
import { answerScore, STEP_STATISTIC } from '../src/risk/risk.js';
import { samplesOf } from '../src/risk/score-collector.js';
import { StepAligner } from '../src/steps/step-aligner.js';
import { TokenSteps } from '../src/steps/token-steps.js';
import { Detokenizer } from '../src/tokenizer/detokenizer.js';
import type { Method } from '../src/uncertainty/method-names.js';
import { scoreResponse } from '../src/uncertainty/sequence-scorer.js';
import type { AbsoluteScoring } from '../src/uncertainty/settings.js';
import { lineOf, promptIdsOf } from './calibrate-prompts.js';
import { formatTable } from './calibrate-report.js';
import { meaning } from './label-files.js';
import { optionFile } from './option-file.js';
import { Progress } from './progress.js';
import { say } from './terminal.js';

/** Further fields play no part. */
const labelledLine = lineOf({ response: z.string(), label: meaning });
type LabelledLine = z.output<typeof labelledLine>;

/** Answers that are scored at a time. */
const CONCURRENCY = 4;

export interface ChooseOptions {
  readonly labels: string;
  readonly output?: string;
  readonly methods: readonly Method[];
  readonly json?: boolean;
}

/**
 * Chooses the method that judges by answers that people labelled, and writes it into the calibration.
 * @throws UsageError for too few labels; EngineError
 */
export async function chooseByLabels(
  engine: Engine,
  { labels, output, methods: asked, json = false }: ChooseOptions,
  scoring: AbsoluteScoring,
): Promise<void> {
  const file = output ?? calibrationFileOf(engine.checkpoint);
  const calibration = (await readKeptCalibration(file)) ?? (await calibrationOf(engine.checkpoint));
  if (!calibration) throw new UsageError(`${file}: there is no calibration to write the choice into`);
  if (calibration.model !== (await fingerprint(engine.checkpoint)))
    throw new UsageError(`${file}: is a calibration of another model`);
  const methods = asked.filter((method) => calibration.calibrations.some((one) => one.methods[method]));
  if (methods.length < 2)
    throw new UsageError(`--methods: the calibration has ${methods.length} of them; two are needed`);
  const lines = await readLabelled(labels);
  const answers = await rate(engine, lines, { ...scoring, methods });
  if (!answers) return;
  const choice = chooseMethod(answers, methods);
  await writeCalibration(file, { ...calibration, method: choice.chosen });
  const chosen = `The method that judges is now ${choice.chosen}.`;
  say(
    json
      ? `${JSON.stringify({ output: file, ...choice })}\n`
      : `${formatChoice(choice)} ${chosen}\n${file}\n`,
  );
}

async function readLabelled(file: string): Promise<LabelledLine[]> {
  const text = await optionFile('--labels', file, readFile(file, 'utf8'));
  let lines: LabelledLine[];
  try {
    lines = parseJsonLines(text, labelledLine);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`--labels: ${file}: ${error.message}`) : error;
  }
  const right = lines.filter(({ label }) => label).length;
  const wrong = lines.length - right;
  if (Math.min(right, wrong) < MIN_LABELLED)
    throw new UsageError(
      `--labels: ${right} right and ${wrong} wrong answers; at least ${MIN_LABELLED} of each are needed`,
    );
  return lines;
}

/** @returns nothing after Ctrl-C, which is the command's failure */
async function rate(
  engine: Engine,
  lines: readonly LabelledLine[],
  scoring: AbsoluteScoring,
): Promise<RatedAnswer[] | null> {
  const progress = new Progress(lines.length);
  const interrupted = fromEvent(process, 'SIGINT').pipe(tap(() => (process.exitCode = 130)));
  try {
    const answers = await lastValueFrom(
      from(lines.entries()).pipe(
        mergeMap(([i, line]) => rateAnswer(engine, line, i + 1, scoring), CONCURRENCY),
        tap(() => progress.advance()),
        takeUntil(interrupted),
        toArray(),
      ),
    );
    return answers.length === lines.length ? answers : null;
  } finally {
    progress.stop();
  }
}

/** Scores an answer as a guard does, and as the verdict takes it: by the sums of its most doubtful steps. */
async function rateAnswer(
  engine: Engine,
  line: LabelledLine,
  number: number,
  scoring: AbsoluteScoring,
): Promise<RatedAnswer> {
  const { checkpoint } = engine;
  const [aligner, steps, detokenizer] = [
    new StepAligner(),
    new TokenSteps(),
    new Detokenizer(checkpoint.tokenizer),
  ];
  const ids = checkpoint.tokenizer.encode(line.response);
  const texts = ids.map((id) => detokenizer.push(id));
  const tokens = ids.map((id, i) => ({ id, begins: aligner.begins(texts[i]!) }));
  const spans = [...texts.flatMap((text) => steps.push(text)), ...steps.end()];
  try {
    const scored = await scoreResponse(engine, promptIdsOf(checkpoint, line), tokens, scoring);
    const answer = { scores: scored.tokens, steps: spans };
    const scoreBy = (method: Method): number => answerScore(samplesOf(answer, method).steps[STEP_STATISTIC]);
    return {
      right: line.label,
      scores: new Map(scoring.methods.map((method) => [method, scoreBy(method)])),
    };
  } catch (error) {
    if (error instanceof EngineError && error.code === 'too_long')
      throw new UsageError(`--labels: line ${number}: ${error.message}`, { cause: error });
    throw error;
  }
}

export function formatChoice({ right, wrong, rows, lead }: MethodChoice): string {
  const show = ({ value, low, high }: MethodChoice['lead']): string =>
    `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
  return [
    `${wrong} wrong and ${right} right answers. How well scores of answers tell them apart, with 95 % intervals:`,
    formatTable([['method', 'AUROC'], ...rows.map(({ method, auroc }) => [method, show(auroc)])]),
    `${rows[0]!.method} less ${rows[1]!.method}: ${show(lead)}.`,
  ].join('\n');
}
