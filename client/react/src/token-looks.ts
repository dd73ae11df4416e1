import {
  type Answer,
  heatOf,
  isWritten,
  type Method,
  riskLevel,
  scoreState,
  stepsOfTokens,
  type Token,
} from 'flinch-client';

/** All that is to be seen of a token. */
export interface TokenLook {
  readonly token: Token;
  readonly text: string;
  /** How strongly to colour it, 0 to 1. */
  readonly strength: number;
  /** Texts that were struck out right before it. */
  readonly struck: readonly string[];
  /** Attributes that `flinch-react/style.css` knows; absent ones are undefined. */
  readonly attributes: Readonly<Record<`data-${string}`, string | undefined>>;
}

/** The looks of all tokens, by their indices. */
export function tokenLooks(answer: Answer, method: Method): readonly TokenLook[] {
  const { tokens, rollbacks } = answer;
  const heat = heatOf(answer, method);
  const steps = stepsOfTokens(answer);
  const last = rollbacks.at(-1);
  const sampling = last?.outcome === null && !isWritten(answer) ? last : null;
  return tokens.map((token): TokenLook => {
    const { index, part } = token;
    const text = token.partText ?? token.text;
    const step = steps[index] ?? null;
    const flagged = step?.flagged === true;
    return {
      token,
      text,
      strength: heat.of(token),
      struck: struckBefore(answer, index),
      attributes: {
        'data-index': String(index),
        'data-score': scoreState(token, method),
        'data-level': step ? riskLevel(step.risk, flagged) : undefined,
        'data-mark': text === '' ? 'part' : text.startsWith('\n') ? 'newline' : undefined,
        'data-part': part,
        'data-flagged': on(flagged),
        'data-first': on(flagged && step.from === index),
        'data-replaced': on(rollbacks.some(({ from, to }) => index >= from && index < to)),
        'data-goes': on(sampling !== null && index >= sampling.from && step?.step === sampling.step),
      },
    };
  });
}

/**
 * Texts that were struck out right before a token, or at the end of the text. A line break in them must not separate
 * text on one line.
 */
export const struckBefore = ({ rollbacks }: Answer, index: number): readonly string[] =>
  rollbacks
    .filter(({ outcome, from }) => outcome === 'replaced' && from === index)
    .map(({ struck }) => struck.trim());

const on = (flag: boolean): string | undefined => (flag ? '' : undefined);
