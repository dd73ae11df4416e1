import type { Answer, Rollback } from 'flinch-client';
import type { ReactNode } from 'react';
import { countTokens, formatScore } from '../words.js';

/** Corrections of the guard: each flagged step with the candidates for its place. */
export function Rollbacks({ answer: { rollbacks } }: { readonly answer: Answer }): ReactNode {
  if (rollbacks.length === 0) return null;
  const replaced = rollbacks.filter(({ outcome }) => outcome === 'replaced').length;
  return (
    <details className="rollbacks">
      <summary>{`Rollbacks: ${rollbacks.length}, ${replaced} replaced`}</summary>
      <ol>
        {rollbacks.map((each) => (
          <Item key={each.rollback} {...each} />
        ))}
      </ol>
    </details>
  );
}

function Item({ step, drawn, outcome, chosen, candidates }: Rollback): ReactNode {
  if (outcome === null) return <li>{`Step ${step + 1}: sampling ${drawn} other continuations…`}</li>;
  return (
    <li>
      <p>{`Step ${step + 1}, ${outcome}`}</p>
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
    </li>
  );
}
