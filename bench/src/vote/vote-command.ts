import { Command, Option } from 'commander';
import { finalAnswer, say, UsageError } from 'flinch/internals';
import { answerScores } from '../escalate/escalation.js';
import { parseShares } from '../escalate/shares.js';
import { waysTable } from '../escalate/ways-table.js';
import { percent, table } from '../markdown-table.js';
import { samplesNeeded } from '../measures/measure.js';
import { parseMeasure } from '../measures/parse-measure.js';
import type { ScoreRecord } from '../records/records.js';
import { isTruncated } from '../records/selection.js';
import { textOf } from '../run/run-context.js';
import { peekRecords, readRun, readScores, sampleKey } from '../run/run-folder.js';
import { formatEstimate } from '../statistics/estimate.js';
import { suiteOf } from '../suites/suites.js';
import { type VoteCase, type VoteTable, type VotingAnswer, votes } from './vote-study.js';

interface VoteOptions {
  readonly shares: readonly number[];
  readonly json?: boolean;
}

export function voteCommand(): Command {
  return new Command('vote')
    .description('Measure what drawing further answers is worth, for all questions or for the doubtful ones.')
    .argument('<run>', 'folder of `flinch bench run` with the measure self_consistency and --score all')
    .addOption(
      new Option('--shares <percents>', 'shares of the questions to vote on, comma-separated')
        .argParser(parseShares)
        .default([0.1, 0.25, 0.5, 0.75], '10,25,50,75'),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Each question has one answer, which is scored, and further ones, of which as many are drawn as may change the winner. What
an answer says is found as the gateway finds it: yes or no, a date, a number, a letter, or a few words, at its end. An answer that was cut off has no vote; a question whose first answer was cut off does not count, nor one with an answer that the check is unsure of. Controls are votes on
all questions, on as many at random, and on those with the longest answers. Intervals are 95 %, of questions drawn again. The
rows are in the order of their mean gain over all shares: name a score beforehand, or measure the first one on fresh questions.

Example:
  $ flinch bench run --suite gsm8k --model ./model.gguf --out runs/votes \\
      --stages generate,check,sample,score --score all \\
      --measures nll,entropy,self_consistency:samples=8
  $ flinch bench vote runs/votes`,
    )
    .action(vote);
}

async function vote(folder: string, { shares, json }: VoteOptions): Promise<void> {
  const { settings, about } = await readRun(folder);
  const cases = await casesOf(folder);
  if (cases.length === 0)
    throw new UsageError(
      `${folder}: no question has a score and further answers; use --score all and --measures self_consistency`,
    );
  const found = votes(cases, { shares, ...settings.bootstrap });
  const model = about.model.name;
  say(`${json ? JSON.stringify({ suite: settings.suite, model, ...found }) : format(found, model)}\n`);
}

/** Without what the further answers say: a vote is not spared by what takes all of them. */
const ofOneAnswer = (scores: ScoreRecord['response']): ScoreRecord['response'] =>
  Object.fromEntries(
    Object.entries(scores).filter(([measure]) => samplesNeeded([parseMeasure(measure)]) === 0),
  );

/** The questions that count. */
async function casesOf(folder: string): Promise<VoteCase[]> {
  const { settings, problems } = await readRun(folder);
  const records = await peekRecords(folder);
  const suite = suiteOf(settings);
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  const caseOf = (score: ScoreRecord): VoteCase | null => {
    const { id } = score;
    const [problem, response, check] = [byId.get(id), records.responses.get(id), records.checks.get(id)];
    if (!problem || !response || !check || check.correct === null || isTruncated(response)) return null;
    const scores = answerScores({ ...score, response: ofOneAnswer(score.response) }, response.tokenTexts);
    const first = {
      said: finalAnswer(textOf(response)),
      right: check.correct,
      tokens: response.tokenIds.length,
    };
    const further = Array.from({ length: settings.samples }, (_, i): VotingAnswer | null => {
      const sample = records.samples.get(sampleKey({ id, sample: i + 1 }));
      if (!sample) return null;
      const { text, tokens, finish } = sample;
      const checked = suite.check(problem, text);
      if (!checked)
        throw new UsageError(`${folder}: no rule checks the further answers, only a judge or a program`);
      if (finish !== 'length' && checked.correct === null) return null;
      return finish === 'length'
        ? { said: null, right: false, tokens }
        : { said: finalAnswer(text), right: checked.correct === true, tokens };
    }).filter((answer) => answer !== null);
    if (further.length === 0 || further.length < settings.samples) return null;
    const length = problem.question.length;
    return { id, length, scores, answers: [first, ...further] };
  };
  const cases: VoteCase[] = [];
  for await (const score of readScores(folder)) {
    const found = caseOf(score);
    if (found) cases.push(found);
  }
  return cases.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function format({ questions, accuracy, tokens, all, some }: VoteTable, model: string): string {
  const ofAll = all.map(({ candidates, accuracy: right, gain, tokens: taken }) => [
    `${candidates}`,
    formatEstimate(right),
    formatEstimate(gain),
    taken.all.toFixed(0),
    taken.drawn.toFixed(0),
    percent(taken.drawn / taken.all),
  ]);
  const most = all.at(-1)!;
  const further = most.tokens.drawn - tokens;
  const cost = some.ways[0]?.points.map(
    (point) => `${percent(point.share)} voted on takes ${percent((point.cost * further) / most.tokens.all)}`,
  );
  return [
    `${questions} questions, right answers of ${model}: ${formatEstimate(accuracy)}, ${tokens.toFixed(0)} tokens`,
    '',
    'Votes on all questions:',
    '',
    table(
      ['further answers', 'right', 'more than one answer', 'tokens, all drawn', 'as needed', 'share'],
      ofAll,
    ),
    '',
    `Votes with up to ${most.candidates} further answers, on some questions:`,
    '',
    waysTable('voted on by', some.ways),
    '',
    `By ${some.ways[0]?.by}, in tokens: ${cost?.join(', ')} of what all ${most.candidates + 1} answers to every question do.`,
  ].join('\n');
}
