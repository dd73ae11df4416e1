import { fullScore, rankWords, riskStrength } from 'flinch-client';
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
import { endLine, type Watched } from './end-line.js';
import { heated, swatches } from './heat.js';

/** @param style of each part of the text */
export type Write = (text: string, style?: (part: string) => string) => void;

export interface AnswerPainter {
  readonly show: (event: GuardEvent) => void;
  /** Ends the answer, also one that was stopped. */
  readonly end: () => void;
}

/**
 * Writes an answer. At its end come the flags, each in a line, and a line that says what the guard found. With a scale,
 * each token is written once its score is known, in the colour that the page gives it, and a legend follows. What comes
 * must not be retracted: a terminal cannot take it back.
 *
 * @param watched `null` without a guard
 * @param scale `null` where nobody sees colours
 */
export function answerPainter(write: Write, watched: Watched | null, scale: HeatScale | null): AnswerPainter {
  const waiting = new Map<number, TokenEvent>();
  const flagged: FlaggedEvent[] = [];
  const rollbacks: RollbackDoneEvent[] = [];
  let verdict: Verdict | null = null;
  let ranked = false;
  const paint = (event: ScoreEvent, { strength }: HeatScale): void => {
    const token = waiting.get(event.index);
    if (!token || !waiting.delete(event.index)) return; // scored again after a rollback: it is out
    const heat = strength(event);
    const text = visible(token.text); // before it gets colours
    write(text, heat === null ? chalk.dim : (part) => heated(part, heat));
  };
  const show = (event: GuardEvent): void => {
    if (event.type === 'step.flagged') flagged.push(event);
    if (event.type === 'rollback.done') rollbacks.push(event);
    if (event.type === 'step.done') ranked ||= event.risk !== null;
    if (event.type === 'token.delta') {
      if (scale) waiting.set(event.index, event);
      else write(visible(event.text));
    }
    if (event.type === 'score.delta' && scale && !event.pending?.includes(scale.method)) paint(event, scale);
    if (event.type === 'text.done' || event.type === 'generation.done') verdict = event.verdict ?? null;
  };
  const end = (): void => {
    if (scale) write(`\n\n${scale.legend(swatches())}\n`);
    else write(watched ? '\n\n' : '\n');
    if (watched === null) return;
    const flags = new Set(flagged.map(({ step }) => step)).size;
    const lines = [
      ...flagged.map((step) => noteLine(step, rollbacks, watched.guard)),
      endLine({ flags, ranked, verdict }, watched),
    ];
    for (const line of lines) write(`${chalk.dim(visible(line))}\n`);
  };
  return { show, end };
}

/** How strongly a token is coloured. */
export interface HeatScale {
  readonly method: Method;
  /** 0 to 1; `null` for a token that cannot be placed. */
  readonly strength: (event: ScoreEvent) => number | null;
  readonly legend: (swatches: string) => string;
}

/** Scale by the risk: full colour at the threshold of the guard. */
export const riskScale = (method: Method, rate: number): HeatScale => ({
  method,
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
    method,
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

function noteLine(flag: FlaggedEvent, rollbacks: readonly RollbackDoneEvent[], { per }: Guard): string {
  const risk = flag.risk === null ? '' : `: ${rankWords(flag.risk, per)}`;
  const rollback = rollbacks.find(({ step }) => step === flag.step);
  return `⚑ step ${flag.step + 1}${risk}${deedOf(flag, rollback)}`;
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
