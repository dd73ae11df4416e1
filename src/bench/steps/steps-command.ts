import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { deviceOption, integer, modelOption, real } from '../../cli/options.js';
import { reportDevices } from '../../cli/report.js';
import type { DeviceChoice } from '../../engine/device.js';
import { Engine } from '../../engine/engine.js';
import { fingerprint } from '../../model/fingerprint.js';
import { encodePrompt } from '../../model/prompt.js';
import { DEFAULT_GUARD } from '../../stream/guard.js';
import { StepAligner } from '../../stream/step-aligner.js';
import { DEFAULT_METHODS, type Method } from '../../uncertainty/method.js';
import type { Schedule } from '../../uncertainty/schedule.js';
import { DEFAULT_ALPHA, DEFAULT_BLOCK, DEFAULT_WINDOW } from '../../uncertainty/settings.js';
import { TextScorer } from '../../uncertainty/text-scorer.js';
import { TOKUR_METHODS } from '../../uncertainty/tokur.js';
import type { Observed } from '../correct/answer-task.js';
import { runUnguarded, WHOLE } from '../correct/run.js';
import { each } from '../each.js';
import { claimFolder, Ledger } from '../ledger.js';
import { thisMachine } from '../report.js';
import { generateProblems } from '../tasks/generate.js';
import type { Problem } from '../tasks/problem.js';
import { verify } from '../tasks/verify.js';
import { detectWrongSteps } from './detection.js';
import { formatDetection } from './detection-report.js';
import { firstWrongStep, type StepAnswer } from './step-answer.js';

interface StepsOptions {
  readonly model: string;
  readonly device: DeviceChoice;
  readonly problems: number;
  readonly seed: number;
  readonly temperature: number;
  readonly out?: string;
  readonly json?: boolean;
}

/** What the finished answers are scored by once more. */
interface Variant {
  readonly name: string;
  readonly method: Method;
  readonly schedule: Schedule;
}

const windowed = (block: number, window: number | 'all'): Variant => ({
  name: `adversarial, block ${block}, window ${window}`,
  method: 'adversarial',
  schedule: { kind: 'windowed', block, window },
});

/** Other schedules than the one that streams have by default; TokUR, which is the same under each. */
const VARIANTS: readonly Variant[] = [
  { name: 'adversarial, offline', method: 'adversarial', schedule: { kind: 'offline' } },
  windowed(1, 'all'),
  windowed(8, 'all'),
  windowed(8, 32),
  windowed(8, 16),
  {
    name: 'adversarial, lazy 0.01',
    method: 'adversarial',
    schedule: { kind: 'lazy', block: DEFAULT_BLOCK, window: DEFAULT_WINDOW, epsilon: 0.01 },
  },
  ...TOKUR_METHODS.map((method): Variant => ({ name: method, method, schedule: { kind: 'offline' } })),
];
/** Measured while the answers are written. */
const METHODS_OF_ANSWERS = [...DEFAULT_METHODS, 'random'] as const;
const STREAMED = windowed(DEFAULT_BLOCK, DEFAULT_WINDOW).name;

export function stepsCommand(): Command {
  return new Command('steps')
    .description('How well each measure, under each schedule, tells the first wrong step from right ones.')
    .addOption(modelOption())
    .addOption(deviceOption())
    .option('--problems <number>', 'how many are answered', integer(1, 1e6), 500)
    .option(
      '--seed <number>',
      'seed of the first problem and its answer; each further one has the next',
      integer(0, 2 ** 30),
      3_000_000,
    )
    .option('--temperature <number>', 'sampling temperature of the answers', real(0, 2), 0.5)
    .option('--out <folder>', 'keep answers and scores there; a run that was interrupted goes on')
    .option('--json', 'print the results as JSON')
    .addHelpText(
      'after',
      `
Pooled over right and wrong answers, as a live threshold meets them; steps after the first wrong one are left out.
Intervals are a bootstrap over answers. Score passes end where steps may begin, as a guard's do.

Examples:
  $ flinch bench steps --out /tmp/steps
  $ flinch bench steps --problems 100 --temperature 1 --json`,
    )
    .action(measureSteps);
}

async function measureSteps(options: StepsOptions): Promise<void> {
  const { model, device, problems: count, seed, temperature, out, json } = options;
  const engine = await Engine.open(model, { device, maxStreams: 64 * availableParallelism() });
  try {
    await reportDevices(engine, device, ['decode', 'score']);
    const folder = out ?? null;
    if (folder !== null) {
      claimFolder(folder, {
        model: await fingerprint(engine.checkpoint),
        seed,
        temperature,
        methods: METHODS_OF_ANSWERS,
      });
    }
    const problems = generateProblems({ seed, count });
    const run = { engine, problems, seed, temperature, folder, part: WHOLE };
    const answers = await runUnguarded(run, DEFAULT_GUARD, METHODS_OF_ANSWERS);
    const scores = new Map<string, readonly (readonly (number | null)[])[]>();
    for (const variant of VARIANTS) {
      scores.set(variant.name, await rescore(engine, problems, answers, variant, folder));
    }
    const detections = detectWrongSteps(
      answers.map((answer, i) => stepAnswer(problems[i]!, answer, i, scores)),
    );
    const report = {
      command: `flinch bench steps --problems ${count} --seed ${seed} --temperature ${temperature}`,
      model: basename(engine.checkpoint.dir),
      machine: thisMachine(),
      accuracy: answers.filter(({ right }) => right).length / count,
      detections,
    };
    if (out !== undefined) writeFileSync(join(out, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    process.stdout.write(`${json ? JSON.stringify(report) : formatDetection(detections)}\n`);
  } finally {
    await engine.close();
  }
}

const rescoredSchema = z.object({ problem: z.int(), scores: z.array(z.number().nullable()) });

/** The same texts under another schedule. */
async function rescore(
  engine: Engine,
  problems: readonly Problem[],
  answers: readonly Observed[],
  variant: Variant,
  folder: string | null,
): Promise<(number | null)[][]> {
  const { name } = variant;
  const file = folder && join(folder, `${name.replaceAll(/[^a-z0-9.]+/g, '-')}.jsonl`);
  const ledger = await Ledger.open(file, rescoredSchema, ({ problem }) => problem);
  return each(name, answers, async ({ tokenIds, tokenTexts }, i) => {
    const known = ledger.get(i);
    if (known) return known.scores;
    const scores = await scoreAnswer(engine, problems[i]!, tokenIds, tokenTexts, variant);
    ledger.add({ problem: i, scores });
    return scores;
  });
}

async function scoreAnswer(
  engine: Engine,
  { question }: Problem,
  ids: readonly number[],
  texts: readonly string[],
  { method, schedule }: Variant,
): Promise<(number | null)[]> {
  const promptIds = encodePrompt(engine.checkpoint, [{ role: 'user', content: question }]);
  const scoring = { methods: [method], schedule, alpha: DEFAULT_ALPHA };
  const scorer = await TextScorer.open(engine, promptIds, scoring, promptIds.length + ids.length);
  try {
    const aligner = new StepAligner();
    const tokens = ids.map((id, i) => ({ id, begins: aligner.begins(texts[i]!) }));
    const scores = [...(await scorer.push(tokens)), ...(await scorer.finish())];
    return scores.map((token) => token.scores[method] ?? null);
  } finally {
    scorer.close();
  }
}

function stepAnswer(
  problem: Problem,
  { text, steps, scores: streamed }: Observed,
  i: number,
  rescored: ReadonlyMap<string, readonly (readonly (number | null)[])[]>,
): StepAnswer {
  let end = 0;
  const spans = steps.map((step) => {
    end += step.text.length;
    return [end - step.text.length, end] as const;
  });
  const scores = new Map<string, readonly (number | null)[]>(
    METHODS_OF_ANSWERS.map((method) => [
      method === 'adversarial' ? STREAMED : method,
      streamed.map((token) => token[method] ?? null),
    ]),
  );
  for (const [name, all] of rescored) scores.set(name, all[i]!);
  return {
    task: problem.task,
    steps: steps.map(({ from: start, to }) => ({ start, end: to })),
    firstWrong: firstWrongStep(verify(problem, text).span, spans),
    scores,
  };
}
