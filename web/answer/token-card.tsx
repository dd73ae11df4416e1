import {
  type Answer,
  formatRisk,
  heatOf,
  rankWords,
  ratedPer,
  stepsOfTokens,
  type Token,
} from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { type ReactNode, useLayoutEffect, useRef } from 'react';
import { formatProbability, formatScore, METHOD_WORDS, visibleText } from '../words.js';
import { methodsOf, riskOf, scoreOf } from './queries.js';
import { whyWords } from './reason-words.js';

export const TOKEN_CARD_ID = 'token-card';

const GAP_PX = 8;

export interface TokenCardProps {
  readonly answer: Answer;
  readonly token: Token;
  readonly method: Method;
  /** Where the token is on the screen, and what is beside it that the card may cover. */
  readonly anchor: () => { readonly token: DOMRect; readonly beside: DOMRect | null } | null;
}

/** Everything known about one token, beside it. */
export function TokenCard({ answer, token, method, anchor }: TokenCardProps): ReactNode {
  const card = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const place = () => {
      const at = anchor();
      if (card.current && at) placeCard(card.current, at.token, at.beside);
    };
    place();
    // Scrolling does not bubble.
    document.addEventListener('scroll', place, { capture: true, passive: true });
    window.addEventListener('resize', place);
    return () => {
      document.removeEventListener('scroll', place, { capture: true });
      window.removeEventListener('resize', place);
    };
  });
  return (
    <div ref={card} id={TOKEN_CARD_ID} className="card" role="tooltip">
      <p className="card-title">
        <span className="card-token">{visibleText(token.partText ?? token.text)}</span>
        <span className="card-place">
          #{token.index}
          {token.id === null ? '' : ` · id ${token.id}`}
        </span>
      </p>
      <Scores answer={answer} token={token} method={method} />
      <Others token={token} />
      <StepOf answer={answer} token={token} />
    </div>
  );
}

/** Beside the text if there is room, else above or below the token; within the window. */
function placeCard(card: HTMLElement, token: DOMRect, beside: DOMRect | null): void {
  const { offsetWidth, offsetHeight } = card;
  const rightmost = window.innerWidth - offsetWidth - GAP_PX;
  const lowest = window.innerHeight - offsetHeight - GAP_PX;
  const above = token.top - offsetHeight - GAP_PX;
  const over = above < GAP_PX ? token.bottom + GAP_PX : above;
  const middle = token.left + token.width / 2 - offsetWidth / 2;
  const [x, y] = beside ? [beside.left, Math.max(token.top, beside.top)] : [middle, over];
  card.style.setProperty('left', `${Math.max(GAP_PX, Math.min(x, rightmost))}px`);
  card.style.setProperty('top', `${Math.max(GAP_PX, Math.min(y, lowest))}px`);
}

interface OfToken {
  readonly answer: Answer;
  readonly token: Token;
}

function Scores({ answer, token, method }: OfToken & { readonly method: Method }): ReactNode {
  const methods = methodsOf(answer);
  const { logprob } = token;
  const ranked = methods.some((each) => riskOf(token, each) !== null);
  return (
    <>
      <table>
        {logprob !== null && (
          <tbody>
            <tr>
              <th scope="row">Probability</th>
              <td>{`${formatProbability(Math.exp(logprob))}, log ${formatScore(logprob)}`}</td>
            </tr>
          </tbody>
        )}
      </table>
      <table>
        <thead>
          <tr>
            <td />
            <th scope="col">Score</th>
            {ranked && <th scope="col">Rank</th>}
          </tr>
        </thead>
        <tbody>
          {methods.map((each) => {
            const score = scoreOf(token, each);
            const risk = riskOf(token, each);
            const style: Record<string, string> = {
              '--flinch-strength': String(heatOf(answer, each).of(token)),
            };
            return (
              <tr key={each} className="card-score" data-chosen={each === method} style={style}>
                <th scope="row">{METHOD_WORDS[each].name}</th>
                <td>{score === null ? missing(answer, token, each) : formatScore(score)}</td>
                {ranked && <td>{risk === null ? '' : formatRisk(risk)}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
      {ranked && <p className="card-note">Rank: higher than this share of ordinary tokens.</p>}
    </>
  );
}

function Others({ token: { rival, topLogprobs, text } }: Pick<OfToken, 'token'>): ReactNode {
  return (
    <>
      {rival && (
        <table>
          <caption>Rival, under perturbation</caption>
          <tbody>
            <tr>
              <th scope="row" className="card-token">
                {visibleText(rival.text)}
              </th>
              <td>{`${formatProbability(rival.before)} → ${formatProbability(rival.after)}`}</td>
            </tr>
          </tbody>
        </table>
      )}
      {topLogprobs.length > 0 && (
        <table>
          <caption>Most probable here</caption>
          <tbody>
            {topLogprobs.map((other, place) => (
              <tr key={place} data-taken={other.text === text}>
                <th scope="row" className="card-token">
                  {visibleText(other.text)}
                </th>
                <td>{formatProbability(Math.exp(other.logprob))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function StepOf({ answer, token: { index } }: OfToken): ReactNode {
  const step = stepsOfTokens(answer)[index];
  if (!step) return null;
  const rank = step.risk === null ? 'not ranked' : rankWords(step.risk, ratedPer(answer.guard?.per));
  const why = step.flagged ? whyWords(answer, step) : null;
  return (
    <p className="card-step">
      {`Step ${step.step + 1}${step.flagged ? ', flagged as unusual' : ''}: ${rank}${why ? `; ${why}` : '.'}`}
    </p>
  );
}

function missing(answer: Answer, token: Token, method: Method): string {
  if (token.skipped.includes(method)) return 'not scored: scoring was slower than writing';
  return answer.phase === 'streaming' ? 'not yet scored' : 'no score';
}
