import { Command, Option } from 'commander';
import { real, say, UsageError } from 'flinch/internals';
import { percent, table } from '../markdown-table.js';
import { isTruncated } from '../records/selection.js';
import { peekRecords, type RunRecords, readRun, readScores } from '../run/run-folder.js';
import { formatEstimate } from '../statistics/estimate.js';
import {
  ANSWER_LENGTH,
  answerScores,
  type EscalationCase,
  type EscalationTable,
  escalations,
  QUESTION_LENGTH,
} from './escalation.js';
import { parseShares } from './shares.js';
import { waysTable } from './ways-table.js';

interface EscalateOptions {
  readonly shares: readonly number[];
  readonly price?: number;
  readonly json?: boolean;
}

export function escalateCommand(): Command {
  return new Command('escalate')
    .description(
      'Measure what handing on the questions that a small model is unsure of to a large one is worth.',
    )
    .argument('<small>', 'folder of `flinch bench run` with the small model, scored with --score all')
    .argument(
      '<large>',
      'folder of `flinch bench run` with the large model and the same questions, up to check',
    )
    .addOption(
      new Option('--shares <percents>', 'shares of the questions to hand on, comma-separated')
        .argParser(parseShares)
        .default([0.1, 0.25, 0.5, 0.75], '10,25,50,75'),
    )
    .option(
      '--price <number>',
      'what a token of the large model costs, in tokens of the small one; by default the ratio of their parameters',
      real(0.001, 1e6),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Questions count if the answers of both models were checked, which those that were cut off are not. Each score of the small
model's answer hands on the questions with its highest values. Controls are as many questions at random, the longest answers,
and the longest questions. A second table has the cost in tokens times prices, and the simplest other way to spend as much: ask
the large model at once about as many random questions as that pays for, all of them at most, and the small one about
the others. Intervals are 95 %, of questions drawn again. No threshold is chosen by the checked answers, but the order of the
rows is: by the mean gain over all shares. Name a score beforehand, or measure the first one on fresh questions.

sum and mean are of the tokens' scores; verdict is what the guard judges whole answers by: the mean of the three steps with
the largest sums.

Examples:
  $ flinch bench run --suite gsm8k --model ./small.gguf --out runs/small \\
      --stages generate,check,score --score all --measures nll,entropy,margin
  $ flinch bench run --suite gsm8k --model ./large.gguf --out runs/large \\
      --stages generate,check
  $ flinch bench escalate runs/small runs/large
  $ flinch bench escalate runs/small runs/large --price 10`,
    )
    .action(escalate);
}

async function escalate(small: string, large: string, options: EscalateOptions): Promise<void> {
  const { shares, price, json } = options;
  const [ofSmall, ofLarge] = [await readRun(small), await readRun(large)];
  const { suite } = ofSmall.settings;
  if (ofLarge.settings.suite !== suite)
    throw new UsageError(`${large}: is a run of ${ofLarge.settings.suite}, not of ${suite}`);
  const cases = await casesOf(small, large);
  if (cases.length === 0)
    throw new UsageError(`${small}: no question is scored there and checked in both; score with --score all`);
  const parameters = { small: ofSmall.about.model.parameters, large: ofLarge.about.model.parameters };
  const prices = { small: 1, large: price ?? parameters.large / parameters.small };
  const found = escalations(cases, { shares, prices, ...ofSmall.settings.bootstrap });
  const models = { small: ofSmall.about.model.name, large: ofLarge.about.model.name };
  say(
    `${json ? JSON.stringify({ suite, models, parameters, prices, ...found }) : format(found, models, prices.large)}\n`,
  );
}

const priceWords = (price: number | null): string =>
  price === null ? 'never' : price === 0 ? 'any' : price.toFixed(1);

function costTable(ways: EscalationTable['ways']): string {
  const columns = ways[0]?.points.flatMap(({ share }) => [
    `cost at ${percent(share)}`,
    'more than at once',
    'better from',
  ]);
  const rows = ways.map(({ by, points }) => [
    by,
    ...points.flatMap(({ cost, overMixing, paysFrom }) => [
      percent(cost),
      formatEstimate(overMixing),
      priceWords(paysFrom),
    ]),
  ]);
  return table(['handed on by', ...(columns ?? [])], rows);
}

/** The questions of both runs that count. */
async function casesOf(small: string, large: string): Promise<EscalationCase[]> {
  const { problems } = await readRun(small);
  const questions = new Map(problems.map(({ id, question }) => [id, question.length]));
  const others = new Map((await readRun(large)).problems.map((problem) => [problem.id, problem]));
  const differs = problems.find(({ id, question, reference }) => {
    const other = others.get(id);
    return other && (other.question !== question || other.reference !== reference);
  });
  if (differs) throw new UsageError(`${large}: ${differs.id} is another question than in ${small}`);
  const [ofSmall, ofLarge] = [await peekRecords(small), await peekRecords(large)];
  const cases: EscalationCase[] = [];
  const answerOf = (records: RunRecords, id: string) => {
    const [check, response] = [records.checks.get(id), records.responses.get(id)];
    return (
      check &&
      check.correct !== null &&
      response &&
      !isTruncated(response) && { right: check.correct, texts: response.tokenTexts }
    );
  };
  for await (const score of readScores(small)) {
    const { id } = score;
    const [own, other] = [answerOf(ofSmall, id), answerOf(ofLarge, id)];
    if (!own || !other) continue;
    const scores = new Map(answerScores(score, own.texts));
    scores.set(ANSWER_LENGTH, own.texts.length).set(QUESTION_LENGTH, questions.get(id) ?? 0);
    const [mine, larger] = [own, other].map(({ right, texts }) => ({ right, tokens: texts.length }));
    cases.push({ id, scores, small: mine!, large: larger! });
  }
  return cases.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function format(
  { questions, small, large, smallTokens, largeTokens, ways }: EscalationTable,
  models: { readonly small: string; readonly large: string },
  price: number,
): string {
  const each = (tokens: number): string => (tokens / questions).toFixed(0);
  return [
    `${questions} questions, right answers: ${models.small} ${formatEstimate(small)}, ${models.large} ${formatEstimate(large)}`,
    `tokens of an answer: ${each(smallTokens)} and ${each(largeTokens)}`,
    '',
    waysTable('handed on by', ways),
    '',
    `If a token of ${models.large} costs ${Number(price.toPrecision(3))} of ${models.small}: costs as shares of what ${models.large} alone does; right answers more than by asking it at once about random questions, at the same cost; and the price from which handing on is better than that:`,
    '',
    costTable(ways),
  ].join('\n');
}
