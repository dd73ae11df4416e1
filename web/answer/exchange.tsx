import { type Advice, answerText, isWritten, rankWords, type Token } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { AnswerText, boxOf } from 'flinch-react';
import { memo, type ReactNode, useEffect, useRef, useState } from 'react';
import type { Exchange } from '../chats/session.js';
import type { AskTo } from '../page-settings.js';
import { describeError, formatScore, METHOD_WORDS, PART_WORDS, sentence, visibleText } from '../words.js';
import { Chart } from './chart.js';
import { CopyButton } from './copy-button.js';
import { Details, Mismatch } from './details.js';
import { elementsOf, FormattedText } from './formatted-text.js';
import { Colours, Legend } from './legend.js';
import { isCharted, riskOf, scoreOf, shownMethod } from './queries.js';
import { QuestionEditor } from './question-editor.js';
import { Reasons } from './reasons.js';
import { statusOf } from './status-words.js';
import { TOKEN_CARD_ID, TokenCard } from './token-card.js';

/** The token that the pointer or the keyboard is on. */
export interface Pointed {
  readonly exchange: string;
  readonly index: number;
  readonly from: 'text' | 'chart';
}

/** What can be done with a question and its answer. */
export interface ExchangeActions {
  /**
   * @param turn the one that gets another answer
   * @param model the one to ask; by default the one that is chosen
   * @returns whether the question was sent
   */
  readonly onAsk: (question: string, to?: AskTo) => boolean;
  readonly onShow: (exchange: Exchange) => void;
  readonly onDelete: (turn: string) => void;
}

export interface ExchangeViewProps extends ExchangeActions {
  readonly exchange: Exchange;
  /** All answers of its turn. */
  readonly variants: readonly Exchange[];
  readonly isLast: boolean;
  /** The model that can answer in place of this one; `null` if there is none. */
  readonly larger: string | null;
  /** Method to colour by, if the answer has it; `null`: the one that judges. */
  readonly chosen: Method | null;
  readonly formatted: boolean;
  readonly connected: boolean;
  /** Whether another question can be asked now. */
  readonly canAsk: boolean;
  readonly chartOpen: boolean;
  /** `null` if it is not a token of this answer. */
  readonly pointed: Pointed | null;
  /** @param update of what is pointed to on the page */
  readonly onPoint: (update: (before: Pointed | null) => Pointed | null) => void;
  readonly onChart: (id: string, open: boolean) => void;
}

/** A question and its answer: the text, beside or below it the chart, and what can be done with it. */
export const ExchangeView = memo((props: ExchangeViewProps): ReactNode => {
  const { exchange, chosen, formatted, connected, canAsk, chartOpen, pointed, onPoint, onChart } = props;
  const { isLast, larger, onAsk, onDelete } = props;
  const { question, turn } = exchange;
  const [editing, setEditing] = useState(false);
  const root = useRef<HTMLElement>(null);
  const asked = useRef(false);
  const ask = (text: string, model?: string): boolean => {
    asked.current = onAsk(text, { turn, ...(model !== undefined && { model }) });
    return asked.current;
  };
  useEffect(() => {
    // What was clicked is gone until the answer is there.
    if (asked.current) root.current?.querySelector<HTMLElement>('.text > div')?.focus();
    asked.current = false;
  }, [exchange.id]);
  const { answer } = exchange;
  const over = isWritten(answer);
  const method = shownMethod(answer, chosen);
  const active = pointed?.index ?? null;
  const token = active === null ? undefined : answer.tokens[active];
  const pointFrom = (from: Pointed['from']) => (index: number | null) =>
    onPoint((before) => {
      if (index !== null) return { exchange: exchange.id, index, from };
      return before?.exchange === exchange.id && before.from === from ? null : before;
    });
  const find = (index: number): Element | undefined => {
    const text = root.current?.querySelector('.text');
    return text ? elementsOf(text, index)[0] : undefined;
  };
  const pick = (index: number): void => {
    find(index)?.scrollIntoView({ block: 'nearest' });
    pointFrom('text')(index);
  };
  const status = statusOf(exchange, connected);
  const label = (each: Token): string => labelOf(each, method);
  const text = { method, active, onPoint: pointFrom('text'), labelOf: label };
  return (
    <section className="exchange" ref={root}>
      {editing ? (
        <QuestionEditor question={question} canAsk={canAsk} onAsk={ask} onClose={() => setEditing(false)} />
      ) : (
        <p className="question">{question}</p>
      )}
      <article
        className="answer"
        aria-label="Answer"
        aria-busy={!over}
        data-state={answer.phase === 'waiting' ? 'streaming' : answer.phase}
      >
        <Mismatch answer={answer} />
        <div className="text">
          {formatted ? (
            <FormattedText key={exchange.id} {...text} exchange={exchange} />
          ) : (
            <AnswerText {...text} answer={answer} describedBy={TOKEN_CARD_ID} />
          )}
        </div>
        {answer.error && (
          <p className="failure" role="alert">
            {answer.verdict
              ? `Scores of this answer are lost. ${sentence(answer.error.message)}`
              : describeError(answer.error)}
          </p>
        )}
        <Status advice={status} />
        <Reasons answer={answer} onPick={pick} />
        {answer.guard && <Details exchange={exchange} method={method} />}
        {over && (
          <div className="foot">
            <Variants {...props} />
            {answer.tokens.length > 0 && <CopyButton text={() => answerText(answer)} />}
            <button type="button" className="quiet" disabled={!canAsk} onClick={() => ask(question)}>
              Ask again
            </button>
            {larger !== null && status.check && answer.escalation === null && (
              <button
                type="button"
                className="quiet"
                disabled={!canAsk}
                onClick={() => ask(question, larger)}
              >
                {`Ask ${larger}`}
              </button>
            )}
            {isLast && (
              <button type="button" className="quiet" onClick={() => setEditing(true)}>
                Edit
              </button>
            )}
            <button
              type="button"
              className="quiet"
              onClick={() => {
                if (confirm(`Delete “${question}”?`)) onDelete(turn);
              }}
            >
              Delete
            </button>
          </div>
        )}
      </article>
      {isCharted(answer) && (
        <details className="chart" open={chartOpen}>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a button */}
          <summary
            onClick={(event) => {
              event.preventDefault();
              onChart(exchange.id, !chartOpen);
            }}
          >
            Chart <Colours answer={answer} method={method} />
          </summary>
          {chartOpen && (
            <>
              <Chart
                key={exchange.id}
                answer={answer}
                method={method}
                active={active}
                onPoint={pointFrom('chart')}
                onPick={pick}
              />
              <Legend answer={answer} method={method} />
            </>
          )}
        </details>
      )}
      {token && (
        <TokenCard
          answer={answer}
          token={token}
          method={method}
          anchor={() => {
            // A token without an element, such as a line break, is somewhere in the answer.
            const at = find(token.index) ?? root.current?.querySelector('.answer');
            return at ? { token: boxOf(at), beside: besideOf(root.current) } : null;
          }}
        />
      )}
    </section>
  );
});

/** What to do with an answer, in a word group and a sentence. */
const Status = ({ advice: { check, head, why } }: { readonly advice: Advice }): ReactNode => (
  <p className="status" data-check={check ?? undefined}>
    {check && <span aria-hidden="true">⚑ </span>}
    <b>{head}.</b> {why}
  </p>
);

/** Which of the answers this is, with the way to the others. */
function Variants({ exchange, variants, onShow }: ExchangeViewProps): ReactNode {
  if (variants.length < 2) return null;
  const place = variants.indexOf(exchange);
  const to = (by: 1 | -1, name: string, sign: string) => {
    const other = variants.at((place + by) % variants.length);
    return (
      <button type="button" className="quiet" aria-label={name} onClick={() => other && onShow(other)}>
        {sign}
      </button>
    );
  };
  return (
    <>
      {to(-1, 'Previous answer', '‹')}
      <span className="place">{`${place + 1}/${variants.length}`}</span>
      {to(1, 'Next answer', '›')}
    </>
  );
}

/** The legend, where it is beside the text: the chart above it is not to be covered. */
function besideOf(exchange: HTMLElement | null): DOMRect | null {
  const text = exchange?.querySelector('.answer')?.getBoundingClientRect();
  const chart = exchange?.querySelector('.chart');
  const box = (chart?.querySelector('.legend') ?? chart)?.getBoundingClientRect();
  return text && box && box.left >= text.right ? box : null;
}

/** What screen readers say of a token. */
function labelOf(token: Token, method: Method): string {
  const score = scoreOf(token, method);
  const risk = riskOf(token, method);
  return [
    visibleText(token.partText ?? token.text),
    ...(score === null ? [] : [`${METHOD_WORDS[method].noun} ${formatScore(score)}`]),
    ...(risk === null ? [] : [rankWords(risk, 'token')]),
    ...(token.part ? [PART_WORDS[token.part]] : []),
  ].join(', ');
}
