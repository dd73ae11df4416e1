import { rankWords, riskStrength, verdictWords } from 'flinch-client';
import { chalk } from '../src/files/colours.js';
import { visible } from '../src/files/visible.js';
import type { Guard } from '../src/guard/guard.js';
import type {
  FlaggedEvent,
  GuardEvent,
  RollbackDoneEvent,
  ScoreEvent,
  TokenEvent,
  Verdict,
} from '../src/stream/events.js';
import type { Method } from '../src/uncertainty/method-names.js';
import { heated, swatches } from './heat.js';

/**
 * Writes text alone: each token as it comes, and at the end what the guard found. What comes must not be retracted.
 *
 * @param guard `null` without one
 */
export function plainPainter(
  write: (text: string) => void,
  guard: Guard | null,
): (event: GuardEvent) => void {
  const found = new Findings();
  return (event) => {
    found.add(event);
    if (event.type === 'token.delta') write(visible(event.text));
    if (event.type !== 'generation.done') return;
    write('\n');
    const notes = guard ? found.lines(guard) : [];
    if (notes.length > 0) write(visible(`\n${notes.join('\n')}\n`));
  };
}

/**
 * Writes each token once its score is known, coloured as the page colours it; at the end a legend, and what the guard
 * found. What comes must not be retracted: a terminal cannot take it back.
 */
export function heatPainter(
  write: (text: string) => void,
  scale: HeatScale,
  guard: Guard,
): (event: GuardEvent) => void {
  const tokens = new Map<number, TokenEvent>();
  const found = new Findings();
  let skipped = false;
  const paint = (event: ScoreEvent): void => {
    const token = tokens.get(event.index);
    if (!token || !tokens.delete(event.index)) return; // scored again after a rollback: it is out
    const strength = scale.strength(event);
    skipped ||= strength === null;
    const text = visible(token.text); // before it gets colours
    write(strength === null ? chalk.dim(text) : heated(text, strength));
  };
  return (event) => {
    found.add(event);
    if (event.type === 'token.delta') tokens.set(event.index, event);
    if (event.type === 'score.delta') paint(event);
    if (event.type !== 'generation.done') return;
    const dim = skipped ? `, ${chalk.dim('skipped')}` : '';
    write(`\n\n${scale.legend(swatches())}${dim}\n`);
    for (const line of found.lines(guard)) write(`${chalk.dim(visible(line))}\n`);
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

/**
 * Scale by the score, if there is no calibration: full colour at the largest score so far.
 *
 * @param calm a largest score below this is that of a text without doubt
 */
export function scoreScale(method: Method, calm: number): HeatScale {
  let largest = calm;
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

/** Findings and actions of the guard. */
class Findings {
  readonly #flagged: FlaggedEvent[] = [];
  readonly #rollbacks: RollbackDoneEvent[] = [];
  #verdict: Verdict | null = null;

  add(event: GuardEvent): void {
    if (event.type === 'step.flagged') this.#flagged.push(event);
    if (event.type === 'rollback.done') this.#rollbacks.push(event);
    if (event.type === 'generation.done') this.#verdict = event.verdict ?? null;
  }

  lines(guard: Guard): string[] {
    const doubted = this.#verdict && isNews(this.#verdict) ? [verdictWords(this.#verdict)] : [];
    return [...noteLines(this.#flagged, this.#rollbacks, guard), ...doubted];
  }
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
