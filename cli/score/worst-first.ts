import { visibleLine } from '../../src/files/visible.js';
import { answerScore } from '../../src/risk/risk.js';
import { type ScoredText, stepScore, weigh } from '../../src/risk/step-score.js';
import { type StepSpan, TokenSteps } from '../../src/steps/token-steps.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import { formatTable } from '../terminal-format.js';
import type { OutputLine } from './score-lines.js';

/** What to read of an answer. A score is −∞ where no token has one. */
export interface DoubtfulAnswer {
  readonly id: string | number;
  readonly score: number;
  /** The step of the highest score; `null` for an answer without text. */
  readonly step: { readonly text: string; readonly score: number } | null;
}

/** An answer as the guard judges it. */
export function doubtfulAnswer(
  { id, tokens }: Pick<OutputLine, 'id' | 'tokens'>,
  method: Method,
): DoubtfulAnswer {
  const spans = new TokenSteps();
  const steps = [...tokens.flatMap(({ text }) => spans.push(text)), ...spans.end()].map(
    ({ text, from, to, step }: StepSpan) => ({
      text,
      score: stepScore(tokens.slice(from, to).flatMap(scoredBy(method)), step),
    }),
  );
  const [step = null] = steps.toSorted((a, b) => compare(b.score, a.score));
  return { id, score: answerScore(weigh(tokens.flatMap(scoredBy(method)))), step };
}

const scoredBy =
  (method: Method) =>
  ({ text, scores }: OutputLine['tokens'][number]): ScoredText[] => {
    const score = scores[method];
    return score === undefined ? [] : [{ text, score }];
  };

const DEFAULT_WIDTH = 100;
const ID_WIDTH = 24;

/** A table of the answers, the most doubtful first, in lines that are no wider than the terminal. */
export function formatAnswers(
  answers: readonly DoubtfulAnswer[],
  {
    method,
    top = answers.length,
    width = DEFAULT_WIDTH,
  }: { readonly method: Method; readonly top?: number | undefined; readonly width?: number | undefined },
): string {
  const shown = answers.toSorted((a, b) => compare(b.score, a.score)).slice(0, top);
  const head = `${shown.length} of ${answers.length} answers, the most doubtful first; judged by ${method}\n`;
  if (shown.length === 0) return head;
  const table = formatTable([
    ['answer', 'step', 'id', 'most doubtful step'],
    ...shown.map(({ id, score, step }) => [
      rounded(score),
      rounded(step?.score ?? score),
      clip(String(id), ID_WIDTH),
      visibleLine((step?.text ?? '').trim().replace(/\s+/g, ' ')),
    ]),
  ]);
  const lines = table.split('\n').map((line) => clip(line, width));
  return `${head}${lines.join('\n')}\n`;
}

/** −∞ is equal to itself. */
const compare = (a: number, b: number): number => (a === b ? 0 : a - b);

function rounded(score: number): string {
  if (!Number.isFinite(score)) return 'none';
  return score !== 0 && Math.abs(score) < 1e-3 ? score.toExponential(1) : score.toPrecision(3);
}

function clip(text: string, most: number): string {
  const characters = [...visibleLine(text)];
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : characters.join('');
}
