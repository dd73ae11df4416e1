import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Command, Option } from 'commander';
import { openEncoders } from '#bench/encoder/encoders.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { Engine } from '#src/engine/engine.js';
import { checkpointOf, peersFolder } from '../peers/folder.js';
import { withTemporaryFolder } from '../temporary-folder.js';
import { type AgreementReport, formatAgreement, reportOf } from './agreement-report.js';
import { byQuestion, parseAnswers } from './answers.js';
import {
  type FlinchAnswer,
  type FlinchQuestion,
  type GivenEncoders,
  measureAnswer,
  measureQuestion,
} from './flinch-measures.js';
import { POLYGRAPH, resultsOf, runScript, scriptFile, THINKBOOSTER, UQLM } from './peer-scripts.js';
import type { Results } from './row.js';

interface Options {
  readonly answers: string;
  readonly model: string;
  readonly minilm: string;
  readonly nli?: string;
  readonly output: string;
}

export function agreementCommand(): Command {
  return new Command('agreement')
    .description('Compare measures of the same answers with those of lm-polygraph, uqlm and thinkbooster.')
    .addOption(
      new Option('--answers <file>', 'answers in JSON Lines').default(
        scriptFile('answers.jsonl'),
        'the answers of this package',
      ),
    )
    .addOption(
      new Option('--model <folder>', 'checkpoint that wrote them').default(
        checkpointOf('smollm2'),
        'SmolLM2 of the peers',
      ),
    )
    .addOption(
      new Option('--minilm <folder>', 'sentence encoder, with its graph').default(
        join(peersFolder(), 'models', 'minilm'),
        'MiniLM of the peers',
      ),
    )
    .option('--nli <folder>', 'NLI model, with its graph; by default a stand-in that knows nothing')
    .option('--output <file>', 'write the results as JSON', 'bench-agreement.json')
    .addHelpText('after', '\nExample:\n  $ npm run lab -- agreement')
    .action(compare);
}

async function compare(options: Options): Promise<void> {
  const report = await withTemporaryFolder((folder) => measure(options, folder));
  await writeFile(options.output, `${JSON.stringify(report, null, 2)}\n`);
  say(`${formatAgreement(report)}\n\nwritten to ${options.output}\n`);
}

/** @param folder for files that are gone afterwards */
export async function measure(
  { answers: file, model, minilm, nli: own }: Omit<Options, 'output'>,
  folder: string,
): Promise<AgreementReport> {
  const given = await readFile(file, 'utf8');
  const answers = parseAnswers(given);
  const nli = own ?? join(folder, 'nli');
  if (own === undefined) await runScript('vllm', 'nli_stand_in.py', [minilm, nli]);
  const run = (name: string, args: readonly string[]): Promise<string> =>
    runScript(name, `measure_${name}.py`, [model, ...args], given);
  // Two at a time, on one thread each: processor time is measured.
  const [polygraph, { flinch, questions }] = await Promise.all([
    run('polygraph', [minilm, nli]),
    flinchSide(model, nli, minilm, answers),
  ]);
  const graphs = [...questions.values()].map(({ graph: { edges } }) =>
    edges[0]!.map((_, claim) => edges.map((row) => Number(row[claim]))),
  );
  const matrices = join(folder, 'graphs.json');
  await writeFile(matrices, JSON.stringify(graphs));
  const [uqlm, thinkbooster] = await Promise.all([run('uqlm', [minilm, matrices]), run('thinkbooster', [])]);
  const results: Results = {
    answers,
    flinch,
    questions,
    polygraph: resultsOf(polygraph, POLYGRAPH),
    uqlm: resultsOf(uqlm, UQLM),
    thinkbooster: resultsOf(thinkbooster, THINKBOOSTER),
  };
  return reportOf(results, basename(model));
}

async function flinchSide(
  model: string,
  nli: string,
  minilm: string,
  answers: ReturnType<typeof parseAnswers>,
) {
  const encoders = await openEncoders({ nli, sentence: minilm });
  const engine = await Engine.open(model, { threads: 1 });
  const progress = new Progress(answers.length);
  try {
    const use: GivenEncoders = { relate: encoders.relate!, embed: encoders.embed! };
    await measureAnswer(engine, answers[0]!, use); // sessions open on first use
    const flinch: FlinchAnswer[] = [];
    for (const answer of answers) {
      flinch.push(await measureAnswer(engine, answer, use));
      progress.advance();
    }
    const questions = new Map<number, FlinchQuestion>();
    for (const [question, own] of byQuestion(answers))
      questions.set(question, await measureQuestion(own, use));
    return { flinch, questions };
  } finally {
    progress.stop();
    await Promise.all([engine.close(), encoders.close()]);
  }
}
