import { defer, finalize, from, type Observable, switchMap } from 'rxjs';
import type { Engine } from '../engine/engine.js';
import type { GenerateRequest } from '../engine/generation.js';
import { blockOf } from '../uncertainty/schedule.js';
import { SequenceScorer } from '../uncertainty/sequence-scorer.js';
import { checkScoring, type Scoring } from '../uncertainty/settings.js';
import type { GenerationEvent } from './events.js';
import { FlowGate } from './flow-gate.js';
import { generate } from './generate.js';
import { laterScores } from './later-scores.js';
import { type ScoreOptions, score } from './score.js';
import { splitScoring, writtenScores } from './written-scores.js';

/**
 * The usual pipeline: a generation, scored while it is written unless `scoring` is `null`.
 *
 * @param begins see {@link ScoreOptions.begins}; by default passes run on where steps end
 *
 * @example
 * scoredGeneration(engine, request, DEFAULT_SCORING).subscribe(console.log);
 */
export function scoredGeneration(
  engine: Engine,
  asked: GenerateRequest,
  scoring: Scoring | null,
  gate: FlowGate = new FlowGate(),
  begins?: ScoreOptions['begins'],
): Observable<GenerationEvent> {
  if (scoring === null) return generate(engine, asked, gate);
  const request = engine.complete(asked);
  const block = blockOf(scoring.schedule);
  const { promptIds, maxTokens } = request;
  const positions = promptIds.length + maxTokens;
  // The scorer first: a text that cannot be scored is refused before any token of it is out.
  return defer(() => {
    checkScoring(scoring);
    const { written, passes } = splitScoring(scoring);
    const tokens = generate(engine, { ...request, statistics: written.length > 0 }, gate);
    if (passes === null) return tokens.pipe(writtenScores(written));
    const opened = SequenceScorer.open(engine, promptIds, passes, positions, 0, request);
    const open = () => opened;
    const scored = () =>
      written.length > 0
        ? tokens.pipe(
            writtenScores(written, passes.methods),
            laterScores({ open, block, ...(begins && { begins }) }),
          )
        : tokens.pipe(score({ open, block, gate, ...(begins && { begins }) }));
    return from(opened).pipe(
      switchMap(scored),
      finalize(() => {
        opened.then(
          (scorer) => scorer.close(),
          () => {}, // the scorer never opened; the subscriber got the error
        );
      }),
    );
  });
}
