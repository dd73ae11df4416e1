import type { Engine } from '../engine/engine.js';
import { SequenceScorer } from '../uncertainty/sequence-scorer.js';
import { DEFAULT_BLOCK, DEFAULT_SCORING } from '../uncertainty/settings.js';
import { timed } from './timing.js';

/** How many texts are scored at once, at the most, to find out how fast a scorer is. */
export const MEASURED_TEXTS = 16;

/** Texts that are scored at once. */
export interface ScoredTexts {
  readonly texts: number;
  /** Tokens before those that are scored. */
  readonly before: number;
  /** Tokens of each that are scored, whose time is measured, after a first {@link DEFAULT_BLOCK} of them. */
  readonly tokens: number;
  /** Milliseconds that the first block may take, with what is before it. */
  readonly patience?: number;
}

/**
 * Milliseconds in which Adv. Pert. scores texts that other servers write.
 * @returns `null` where the first block takes longer than is waited for
 * @throws EngineError
 */
export async function measureScoring(
  engine: Engine,
  { texts, before, tokens, patience = Number.POSITIVE_INFINITY }: ScoredTexts,
): Promise<number | null> {
  const begins = before + DEFAULT_BLOCK;
  const ends = begins + tokens;
  // A text whose tokens do not matter: speed does not depend on them.
  const ids = Array.from({ length: ends }, (_, i) => (i * 7919) % engine.checkpoint.config.vocabSize);
  const open = () => SequenceScorer.open(engine, ids.slice(0, before), DEFAULT_SCORING, ends);
  const scorers = await Promise.all(Array.from({ length: texts }, open));
  const push = (from: number, to: number): Promise<number> =>
    timed(() =>
      Promise.all(scorers.map((scorer) => scorer.push(ids.slice(from, to).map((id) => ({ id }))))),
    )();
  try {
    return (await push(before, begins)) > patience ? null : await push(begins, ends);
  } finally {
    for (const scorer of scorers) scorer.close();
  }
}
