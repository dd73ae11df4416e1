import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Command, Option } from 'commander';
import { percent, table } from '#bench/markdown-table.js';
import { heading } from '#cli/format.js';
import { integer, modelOption, real } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { Engine } from '#src/engine/engine.js';
import { UsageError } from '#src/files/errors.js';
import { reasonerPath as EMBEDDED_MODEL } from '#src/package-root.js';
import { TOP } from './agreement.js';
import { answer, readQuestions } from './answers.js';
import { type Comparison, type ScheduleResult, scoreAnswer, summarize } from './compare.js';
import { REFERENCES, VARIANTS } from './variants.js';

interface Options {
  readonly model: string;
  readonly problems: string;
  readonly answers: number;
  readonly temperature: number;
  readonly seed: number;
  readonly output: string;
}

/** Ranks of fewer tokens mean little. */
const SHORTEST_ANSWER = 2 * TOP;

export function schedulesCommand(): Command {
  return new Command('schedules')
    .description('Compare token rankings of streaming schedules with those of offline scoring.')
    .addOption(modelOption())
    .addOption(
      new Option('--problems <file>', 'questions in JSON Lines').default(
        join(EMBEDDED_MODEL, 'problems.jsonl'),
        'problems of the embedded reasoner',
      ),
    )
    .option('--answers <number>', 'number of answers of at least 10 tokens', integer(1, 100_000), 100)
    .option('--temperature <number>', 'sampling temperature', real(0, 2), 0.5)
    .option(
      '--seed <number>',
      'seed of the first answer; incremented for each further one',
      integer(0, 2 ** 31),
      1,
    )
    .option('--output <file>', 'write the results as JSON', 'bench-schedules.json')
    .addHelpText('after', '\nExample:\n  $ npm run lab -- schedules --answers 100')
    .action(compare);
}

async function compare(options: Options): Promise<void> {
  const questions = await readQuestions(options.problems);
  const engine = await Engine.open(options.model);
  const progress = new Progress(options.answers);
  const comparisons: Comparison[] = [];
  try {
    for (const [i, question] of questions.entries()) {
      if (comparisons.length === options.answers) break;
      const { temperature, seed } = options;
      const given = await answer(engine, question, { temperature, seed: seed + i, topK: 0, topP: 1 });
      if (given.ids.length < SHORTEST_ANSWER) continue;
      comparisons.push(await scoreAnswer(engine, given, VARIANTS));
      progress.advance();
    }
  } finally {
    progress.stop();
    await engine.close();
  }
  if (comparisons.length < options.answers) {
    throw new UsageError(
      `${options.problems} gave only ${comparisons.length} answers of at least ${SHORTEST_ANSWER} tokens`,
    );
  }
  const results = summarize(VARIANTS, comparisons);
  const { output, model, problems, ...others } = options;
  const settings = { model: basename(model), problems: basename(problems), ...others };
  await writeFile(output, `${JSON.stringify({ settings, results }, null, 2)}\n`);
  say(`${format(results, options)}\n\nwritten to ${output}\n`);
}

function format(results: readonly ScheduleResult[], { answers, temperature }: Options): string {
  const header = ['schedule', 'attacked', 'positions/token', 'ms/token'];
  const columns = REFERENCES.flatMap((name) => [`ρ with ${name}`, `top ${TOP}`, 'kept']);
  const rows = results.map((result) => [
    result.name,
    percent(result.attacked),
    result.positionsPerToken.toFixed(1),
    result.millisecondsPerToken.toFixed(1),
    ...REFERENCES.flatMap((name) => {
      const { spearman, top, kept } = result.agreement[name];
      return [spearman.toFixed(3), percent(top), percent(kept)];
    }),
  ]);
  const title = `${answers} answers at temperature ${temperature}: mean rank correlation, and mean shares of the ${TOP} highest tokens that agree and that are attacked`;
  return `${heading(title)}\n\n${table([...header, ...columns], rows)}`;
}
