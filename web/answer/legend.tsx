import { type Answer, formatRisk, heatOf, isOver, type RiskLevel } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import type { ReactNode } from 'react';
import { formatScore, LEVEL_WORDS, METHOD_WORDS } from '../words.js';
import { strongest, unscoredTokens } from './queries.js';

const LEVELS: readonly RiskLevel[] = ['calm', 'slight', 'raised', 'high', 'flagged'];

export interface LegendProps {
  readonly answer: Answer;
  readonly method: Method;
}

/** Meaning of the colours, in a line. */
export function Colours({ answer, method }: LegendProps): ReactNode {
  return (
    <span className="colours">
      {METHOD_WORDS[method].name}
      {heatOf(answer, method).by === 'risk' ? ': higher than' : ', score:'} 0 <span className="legend-ramp" />{' '}
      {topWords(answer, method)}
    </span>
  );
}

/** Meaning of the marks and of the lines under the text. */
export function Legend({ answer, method }: LegendProps): ReactNode {
  const { by } = heatOf(answer, method);
  const { name, meaning } = METHOD_WORDS[method];
  const unscored = isOver(answer) ? unscoredTokens(answer, method) : 0;
  const rated = by === 'risk' || answer.flags.length > 0 || answer.steps.some(({ risk }) => risk !== null);
  return (
    <div className="legend">
      {rated && (
        <p>
          Rank of a step:
          {LEVELS.map((level) => (
            <span key={level} className="legend-level flinch-step" data-level={level}>
              {level === 'flagged' && <span className="flinch-flag">⚑</span>}
              {LEVEL_WORDS[level]}
            </span>
          ))}
        </p>
      )}
      {unscored > 0 && (
        <p>
          Tokens:
          <span className="legend-missing">no score</span>
        </p>
      )}
      <p>
        {name}: {meaning}.
      </p>
    </div>
  );
}

function topWords(answer: Answer, method: Method): string {
  const { by, full } = heatOf(answer, method);
  if (by === 'risk') return `${formatRisk(full)} of ordinary tokens`;
  const top = strongest(answer, method)?.score ?? null;
  if (top === null) return 'nothing scored yet';
  const so = isOver(answer) ? 'highest in this answer' : 'highest so far';
  return top < full ? `${formatScore(full)} (${so}: ${formatScore(top)})` : `${formatScore(top)} (${so})`;
}
