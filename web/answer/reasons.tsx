import type { Answer, Rollback } from 'flinch-client';
import type { ReactNode } from 'react';
import { countTokens, formatScore } from '../words.js';
import { flaggedSteps } from './queries.js';
import { doubtfulToken, rollbackWords, whyWords } from './reason-words.js';

export interface ReasonsProps {
  readonly answer: Answer;
  /** Shows a token of the answer. */
  readonly onPick: (index: number) => void;
}

/** Each step that was flagged: why, as far as is known, and what the guard did about it. */
export function Reasons({ answer, onPick }: ReasonsProps): ReactNode {
  const flagged = flaggedSteps(answer);
  const numbers = [...new Set([...flagged, ...answer.rollbacks].map(({ step }) => step))].sort(
    (a, b) => a - b,
  );
  if (numbers.length === 0) return null;
  return (
    <ul className="reasons">
      {numbers.map((number) => {
        const step = flagged.find((each) => each.step === number);
        const rollbacks = answer.rollbacks.filter((each) => each.step === number);
        const goal = (step && doubtfulToken(answer, step)?.index) ?? step?.from ?? rollbacks[0]?.from ?? 0;
        const settled = answer.steps.some((each) => each.step === number);
        const replaced = settled ? 'it was flagged; what took its place is not.' : null;
        const why = step ? whyWords(answer, step) : replaced;
        return (
          <li key={number}>
            <button type="button" className="link" onClick={() => onPick(goal)}>
              {`Step ${number + 1}`}
            </button>
            {why && `: ${why}`}
            {rollbacks.map((each) => (
              <Candidates key={each.rollback} {...each} />
            ))}
          </li>
        );
      })}
    </ul>
  );
}

/** What the guard has drawn in place of a step, and what it took. */
function Candidates(rollback: Rollback): ReactNode {
  const { outcome, chosen, candidates } = rollback;
  if (outcome === null) return <p>{rollbackWords(rollback)}</p>;
  return (
    <details className="rollback">
      <summary>{rollbackWords(rollback)}</summary>
      <table>
        <thead>
          <tr>
            <td />
            <th scope="col">Candidate</th>
            <th scope="col">Length</th>
            <th scope="col">Mean score</th>
          </tr>
        </thead>
        <tbody>
          {candidates.map(({ text, tokens, score }, index) => {
            const taken = index === chosen;
            const words = [...(index === 0 ? ['as it was'] : []), ...(taken ? ['chosen'] : [])];
            return (
              <tr key={index} className={taken ? 'candidate-chosen' : undefined}>
                <td>{taken ? '✓' : ''}</td>
                <td className="candidate-text">
                  {index === 0 && outcome === 'replaced' ? <del>{text.trim()}</del> : text.trim()}
                  {/* Nothing may be said by the mark or the line through the text alone. */}
                  <span className="candidate-note">{words.join(', ')}</span>
                </td>
                <td>{countTokens(tokens)}</td>
                <td>{score === null ? 'no score' : formatScore(score)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </details>
  );
}
