import {
  type Answer,
  heatOf,
  isOver,
  type Method,
  type Rollback,
  rankWords,
  riskLevel,
  scoreState,
  stepsOfTokens,
  type Token,
} from 'flinch-client';
import { memo, type ReactNode, useId, useRef } from 'react';
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
 * line under each step, spikes framed, text that was struck out right before what replaced it. Arrow keys, Home and End
 * move between tokens. It needs `flinch-react/style.css`.
 */
export function AnswerText({
  answer,
  method,
  active = null,
  onPoint = () => {},
  labelOf,
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
      data-over={isOver(answer)}
      tabIndex={0}
      {...handlers}
    >
      {piecesOf(answer, method).map((piece) =>
        'struck' in piece ? (
          // Screen readers read the final answer.
          <del key={`struck ${piece.rollback}`} className="flinch-struck" aria-hidden="true">
            {piece.struck}
          </del>
        ) : (
          <TokenText
            key={piece.index}
            {...piece}
            id={`${id}${piece.index}`}
            active={piece.index === active}
            label={labelOf?.(piece.token) ?? defaultLabel(piece.token, method)}
          />
        ),
      )}
    </div>
  );
}

/** All that a token shows. */
interface Look {
  readonly token: Token;
  readonly index: number;
  readonly text: string;
  readonly score: string;
  readonly strength: string;
  readonly level: string;
  readonly flagged: boolean;
  /** It begins a flagged step. */
  readonly first: boolean;
  readonly goes: boolean;
  readonly replaced: boolean;
}

interface Struck {
  readonly rollback: number;
  readonly struck: string;
}

/** The tokens in their order, and text that was struck out where it stood. */
function piecesOf(answer: Answer, method: Method): readonly (Look | Struck)[] {
  const { tokens, rollbacks } = answer;
  const heat = heatOf(answer, method);
  const steps = stepsOfTokens(answer);
  const last = rollbacks.at(-1);
  const drawing = last?.outcome === null && !isOver(answer) ? last : null;
  const pieces: (Look | Struck)[] = [];
  for (const token of tokens) {
    const { index, text, partText } = token;
    const step = steps[index] ?? null;
    pieces.push(...struckAt(rollbacks, index), {
      token,
      index,
      text: partText ?? text,
      score: scoreState(token, method),
      strength: heat.of(token).toFixed(3),
      level: step ? riskLevel(step.risk, step.flagged === true) : '',
      flagged: step?.flagged === true,
      first: step?.flagged === true && step.from === index,
      goes: drawing !== null && index >= drawing.from && step?.step === drawing.step,
      replaced: rollbacks.some(({ from, to }) => index >= from && index < to),
    });
  }
  return [...pieces, ...struckAt(rollbacks, tokens.length)];
}

/** A line break that was struck out must not separate text on one line. */
const struckAt = (rollbacks: readonly Rollback[], index: number): readonly Struck[] =>
  rollbacks
    .filter(({ outcome, from }) => outcome === 'replaced' && from === index)
    .map(({ rollback, struck }) => ({ rollback, struck: struck.trim() }));

interface TokenTextProps extends Look {
  readonly id: string;
  readonly active: boolean;
  readonly label: string;
}

/** A token may become another one, where the first was retracted; else it seldom changes. */
const TokenText = memo((props: TokenTextProps): ReactNode => {
  const { token, index, id, text, score, strength, level, flagged, first, goes, replaced, active, label } =
    props;
  const style: Record<string, string> = { '--flinch-strength': strength };
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the listbox has the focus, and names the active option
    <span
      id={id}
      className="flinch-token"
      role="option"
      aria-selected={active}
      aria-label={label}
      style={style}
      data-index={index}
      data-score={score}
      data-level={level || undefined}
      data-mark={markOf(text)}
      data-part={token.part}
      data-flagged={flagged || undefined}
      data-first={first || undefined}
      data-spike={token.spike || undefined}
      data-inserted={token.inserted || undefined}
      data-replaced={replaced || undefined}
      data-goes={goes || undefined}
      data-active={active || undefined}
    >
      {text}
    </span>
  );
});

function markOf(text: string): string | undefined {
  if (text === '') return 'part';
  return text.startsWith('\n') ? 'newline' : undefined;
}

function defaultLabel({ text, partText, risk }: Token, method: Method): string {
  const rank = risk[method] ?? null;
  return `${partText ?? text}${rank === null ? '' : `, ${rankWords(rank, 'token')}`}`;
}
