import chalk from 'chalk';
import type { Guard } from '../guard/guard.js';
import type { FlaggedEvent, GuardEvent, RollbackDoneEvent, TokenEvent } from '../stream/events.js';
import type { Method } from '../uncertainty/method-names.js';
import { Heat } from './heat.js';

/** Writes text alone: each token as it comes. What comes must not be retracted. */
export function plainPainter(write: (text: string) => void): (event: GuardEvent) => void {
  return (event) => {
    if (event.type === 'token.delta') write(event.text);
    if (event.type === 'generation.done') write('\n');
  };
}

/**
 * Writes each token once its score is known, coloured by it; at the end a legend, and what the guard found. What comes
 * must not be retracted: a terminal cannot take it back.
 *
 * @param calm a largest score below this is that of a text without doubt
 */
export function heatPainter(
  write: (text: string) => void,
  method: Method,
  calm: number,
  guard: Guard,
): (event: GuardEvent) => void {
  const heat = new Heat(chalk, calm);
  const tokens = new Map<number, TokenEvent>();
  const flagged: FlaggedEvent[] = [];
  const rollbacks: RollbackDoneEvent[] = [];
  let skipped = false;
  const paint = (index: number, score: number | undefined): void => {
    const token = tokens.get(index);
    if (!token || !tokens.delete(index)) return; // scored again after a rollback: it is out
    // What the guard put there is not the model's, and sets no scale.
    const unrated = token.inserted || score === undefined;
    skipped ||= !token.inserted && score === undefined;
    write(unrated ? heat.dim(token.text) : heat.paint(token.text, score));
  };
  return (event) => {
    if (event.type === 'token.delta') tokens.set(event.index, event);
    if (event.type === 'score.delta') paint(event.index, event.scores[method]);
    if (event.type === 'step.flagged') flagged.push(event);
    if (event.type === 'rollback.done') rollbacks.push(event);
    if (event.type !== 'generation.done') return;
    const dim = skipped ? `, ${heat.dim('skipped')}` : '';
    write(`\n\n${chalk.dim(`${method}:`)} ${heat.legend()}${dim}\n`);
    for (const line of noteLines(flagged, rollbacks, guard)) write(`${chalk.dim(line)}\n`);
  };
}

/** What the guard found and did, a line each, and how far its risks can be believed. */
function noteLines(
  flagged: readonly FlaggedEvent[],
  rollbacks: readonly RollbackDoneEvent[],
  { method, rate, per }: Guard,
): string[] {
  const [first] = flagged;
  if (!first) return [];
  const meaning = first.calibrated
    ? `calibrated: ${Number((100 * rate).toPrecision(3))} % of ordinary ${per}s would be flagged`
    : 'not calibrated: relative to the scores of this chat so far (see flinch calibrate)';
  const notes = flagged.map((step) => {
    const risk = step.risk === null ? '' : `: risk ${step.risk.toFixed(3)}`;
    const deed = deedOf(
      step,
      rollbacks.find((rollback) => rollback.step === step.step),
    );
    return `⚑ step ${step.step + 1}${risk}${deed}`;
  });
  return [...notes, `risk of ${method}, ${meaning}`];
}

function deedOf({ action, text }: FlaggedEvent, rollback: RollbackDoneEvent | undefined): string {
  const quoted = text === '' ? '' : `: ${quote(text)}`;
  if (action === 'annotate') return quoted;
  if (action === 'stop') return `, stopped${quoted}`;
  if (action === 'reflect') return `, asked to check it${quoted}`;
  const chosen = rollback?.candidates[rollback.chosen]?.text ?? '';
  const others = rollback ? rollback.candidates.length - 1 : 0;
  if (rollback?.outcome === 'kept') return `, kept over ${others} candidates${quoted}`;
  return `, rolled back: ${quote(text)} → ${quote(chosen)}`;
}

function quote(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return `“${line.length > 60 ? `${line.slice(0, 59)}…` : line}”`;
}
