import { type Answer, isWritten, type Method, rankWords, type Token } from 'flinch-client';
import { memo, type ReactNode, useId, useRef } from 'react';
import { struckBefore, type TokenLook, tokenLooks } from './token-looks.js';
import { useTokenNavigation } from './token-navigation.js';

export interface AnswerTextProps {
  /** The answer as it stands, of `answerOf()` of `flinch-client`. */
  readonly answer: Answer;
  /** Method whose risks, or else scores, colour the tokens. */
  readonly method: Method;
  /** Token that is looked at, as `onPoint` said. */
  readonly active?: number | null;
  /** Hears which token the pointer or the keyboard is on, and `null` when neither is. */
  readonly onPoint?: (index: number | null) => void;
  /** What screen readers say of a token; by default its text and its risk. */
  readonly labelOf?: (token: Token) => string;
  /** Id of an element that describes the active token. */
  readonly describedBy?: string;
}

/**
 * An answer of the stream protocol as text, token by token, while it is written: each token coloured by its risk, a
 * line under each step, text that was struck out right before what replaced it. Arrow keys, Home and End
 * move between tokens. It needs `flinch-react/style.css`.
 */
export function AnswerText({
  answer,
  method,
  active = null,
  onPoint = () => {},
  labelOf = (token) => defaultLabel(token, method),
  describedBy,
}: AnswerTextProps): ReactNode {
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const handlers = useTokenNavigation(root, active, onPoint);
  return (
    <div
      ref={root}
      className="flinch-answer"
      role="listbox"
      aria-orientation="horizontal"
      aria-label="Answer, token by token. The arrow keys move between tokens."
      aria-activedescendant={active === null ? undefined : `${id}${active}`}
      aria-describedby={active === null ? undefined : describedBy}
      data-over={isWritten(answer)}
      tabIndex={0}
      {...handlers}
    >
      {tokenLooks(answer, method).flatMap((look) => {
        const { index } = look.token;
        const isActive = index === active;
        return [
          ...look.struck.map((text, at) => <Struck key={`${index} ${at}`} text={text} />),
          <TokenText
            key={index}
            id={`${id}${index}`}
            text={look.text}
            strength={look.strength.toFixed(3)}
            // Screen readers hear of the active one alone.
            label={isActive ? labelOf(look.token) : undefined}
            attributes={JSON.stringify(look.attributes)}
          />,
        ];
      })}
      {struckBefore(answer, answer.tokens.length).map((text, at) => (
        // Struck out text never changes its place.
        <Struck key={`end ${at}`} text={text} />
      ))}
    </div>
  );
}

/** Screen readers read the final answer. */
const Struck = ({ text }: { readonly text: string }): ReactNode => (
  <del className="flinch-struck" aria-hidden="true">
    {text}
  </del>
);

interface TokenTextProps extends Pick<TokenLook, 'text'> {
  readonly id: string;
  readonly strength: string;
  /** What screen readers say of it while it is active. */
  readonly label: string | undefined;
  /** As JSON, so that an unchanged token is not drawn again. */
  readonly attributes: string;
}

const TokenText = memo(({ id, text, strength, label, attributes }: TokenTextProps): ReactNode => {
  const style: Record<string, string> = { '--flinch-strength': strength };
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the listbox has the focus, and names the active option
    <span
      id={id}
      className="flinch-token"
      role="option"
      aria-selected={label !== undefined}
      aria-label={label ?? (text.trim() === '' ? nameOf(text) : undefined)}
      style={style}
      data-active={label === undefined ? undefined : ''}
      {...JSON.parse(attributes)}
    >
      {text}
    </span>
  );
});

/** Screen readers need a word for a token that shows nothing. */
function nameOf(text: string): string {
  if (text === '') return 'no text';
  return text.trim() === '' ? 'white space' : text;
}

function defaultLabel({ text, partText, risk }: Token, method: Method): string {
  const rank = risk[method] ?? null;
  return `${nameOf(partText ?? text)}${rank === null ? '' : `, ${rankWords(rank, 'token')}`}`;
}
