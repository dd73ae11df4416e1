import { fullScore, rankWords, riskStrength, verdictWords } from 'flinch-client';
import { chalk } from '../../src/files/colours.js';
import { visible } from '../../src/files/visible.js';
import type { Guard } from '../../src/guard/guard.js';
import type {
  FlaggedEvent,
  GuardEvent,
  RollbackDoneEvent,
  ScoreEvent,
  TokenEvent,
  Verdict,
} from '../../src/stream/events.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import { heated, swatches } from './heat.js';

/**
 * Writes an answer, and at the end what the guard found. With a scale, each token is written once its score is known, in
 * the colour that the page gives it, and a legend follows. What comes must not be retracted: a terminal cannot take it
 * back.
 *
 * @param guard `null` without one
 * @param scale `null` where nobody sees colours
 */
export function answerPainter(
  write: (text: string) => void,
  guard: Guard | null,
  scale: HeatScale | null,
): (event: GuardEvent) => void {
  const waiting = new Map<number, TokenEvent>();
  const flagged: FlaggedEvent[] = [];
  const rollbacks: RollbackDoneEvent[] = [];
  let skipped = false;
  const paint = (event: ScoreEvent, { strength }: HeatScale): void => {
    const token = waiting.get(event.index);
    if (!token || !waiting.delete(event.index)) return; // scored again after a rollback: it is out
    const heat = strength(event);
    skipped ||= heat === null;
    const text = visible(token.text); // before it gets colours
    write(heat === null ? chalk.dim(text) : heated(text, heat));
  };
  const end = (verdict: Verdict | null): void => {
    const lines = guard
      ? [
          ...noteLines(flagged, rollbacks, guard),
          ...(verdict && isNews(verdict) ? [verdictWords(verdict)] : []),
        ]
      : [];
    const dim = skipped ? `, ${chalk.dim('skipped')}` : '';
    if (scale) write(`\n\n${scale.legend(swatches())}${dim}\n`);
    else write(lines.length > 0 ? '\n\n' : '\n');
    for (const line of lines) write(`${chalk.dim(visible(line))}\n`);
  };
  return (event) => {
    if (event.type === 'step.flagged') flagged.push(event);
    if (event.type === 'rollback.done') rollbacks.push(event);
    if (event.type === 'token.delta') {
      if (scale) waiting.set(event.index, event);
      else write(visible(event.text));
    }
    if (event.type === 'score.delta' && scale) paint(event, scale);
    if (event.type === 'generation.done') end(event.verdict ?? null);
  };
}

/** How strongly a token is coloured. */
export interface HeatScale {
  /** 0 to 1; `null` for a token that cannot be placed. */
  readonly strength: (event: ScoreEvent) => number | null;
  readonly legend: (swatches: string) => string;
}

/** Scale by the risk: full colour at the threshold of the guard. */
export const riskScale = (method: Method, rate: number): HeatScale => ({
  strength: ({ risk }) => {
    const own = risk?.[method];
    return own === undefined ? null : riskStrength(own, rate);
  },
  legend: (swatches) =>
    `${chalk.dim(`${method}:`)} ordinary ${swatches} ${rankWords(1 - rate, 'token')} or more`,
});

/** Scale by the score, if there is no calibration: full colour at the largest score so far, as on the page. */
export function scoreScale(method: Method): HeatScale {
  let largest = fullScore([], method);
  return {
    strength: ({ scores }) => {
      const score = scores[method];
      if (score === undefined) return null;
      largest = Math.max(largest, score);
      return Math.max(0, score / largest);
    },
    legend: (swatches) =>
      `${chalk.dim(`${method}:`)} certain ${swatches} uncertain (${largest.toPrecision(3)}, not calibrated)`,
  };
}

/** Whether a verdict is shown: not for an ordinary answer, nor while too few others are known. */
const isNews = ({ flagged, reason }: Verdict): boolean =>
  flagged === true || (flagged === null && reason !== 'too_few_answers');

/** A line for each flag, and what its rank means. */
function noteLines(
  flagged: readonly FlaggedEvent[],
  rollbacks: readonly RollbackDoneEvent[],
  { method, rate, per }: Guard,
): string[] {
  const [first] = flagged;
  if (!first) return [];
  const meaning = first.calibrated
    ? `calibrated: ${Number((100 * rate).toPrecision(3))} % of ordinary ${per}s would ${per === 'answer' ? 'have a flag' : 'be flagged'}`
    : 'not calibrated: relative to the scores of this chat so far (see flinch calibrate)';
  const notes = flagged.map((step) => {
    const risk = step.risk === null ? '' : `: ${rankWords(step.risk, per)}`;
    const deed = deedOf(
      step,
      rollbacks.find((rollback) => rollback.step === step.step),
    );
    return `⚑ step ${step.step + 1}${risk}${deed}`;
  });
  return [...notes, `risks by ${method}, not probabilities of an error; ${meaning}`];
}

function deedOf({ action, text }: FlaggedEvent, rollback: RollbackDoneEvent | undefined): string {
  const quoted = text === '' ? '' : `: ${quote(text)}`;
  if (action === 'annotate') return quoted;
  if (action === 'stop') return `, stopped${quoted}`;
  return rollback ? rollbackWords(rollback, text) : '';
}

function rollbackWords({ outcome, candidates, chosen }: RollbackDoneEvent, text: string): string {
  if (outcome === 'kept') return `, kept over ${candidates.length - 1} candidates: ${quote(text)}`;
  return `, rolled back: ${quote(text)} → ${quote(candidates[chosen]?.text ?? '')}`;
}

function quote(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return `“${line.length > 60 ? `${line.slice(0, 59)}…` : line}”`;
}
