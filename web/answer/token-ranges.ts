import { type Answer, heatOf, riskLevel, scoreState, stepsOfTokens } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import type { TextRange } from './markdown.js';

/**
 * The tokens of the text, with what is to be seen of each: the attributes of `AnswerText`, and `data-strength`, as a
 * page's policy lets no style be written into HTML.
 */
export function tokenRanges(answer: Answer, method: Method): readonly TextRange[] {
  const heat = heatOf(answer, method);
  const steps = stepsOfTokens(answer);
  let from = 0;
  return answer.tokens.flatMap((token): TextRange[] => {
    const { index, text } = token;
    const begin = from;
    from += text.length;
    if (text === '') return [];
    const step = steps[index] ?? null;
    const struck = answer.rollbacks
      .filter((each) => each.outcome === 'replaced' && each.from === index)
      .map((each) => each.struck.trim())
      .join(' ');
    const replaced = answer.rollbacks.some((each) => index >= each.from && index < each.to);
    const attributes = {
      class: 'flinch-token',
      'data-index': String(index),
      'data-score': scoreState(token, method),
      'data-strength': heat.of(token).toFixed(3),
      ...(step && { 'data-level': riskLevel(step.risk, step.flagged === true) }),
      ...(step?.flagged && step.from === index && { 'data-first': '' }),
      ...(token.spike && { 'data-spike': '' }),
      ...(token.inserted && { 'data-inserted': '' }),
      ...(replaced && { 'data-replaced': '' }),
    };
    return [{ from: begin, to: from, attributes, ...(struck && { struck }) }];
  });
}
