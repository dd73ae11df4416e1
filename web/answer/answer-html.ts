import { type Answer, answerText, isWritten, type Token } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { struckBefore, type TokenLook, tokenLooks } from 'flinch-react';
import type { RecordedEvent } from '../chats/recording.js';
import { struckHtml, type TextRange, thoughtsHtml, toHtml, verbatimHtml } from './markdown.js';
import { thoughtsLength, thoughtsWords, unscoredReasoning } from './thoughts.js';

/**
 * An answer as HTML: its text as Markdown, its tool calls as they were written, its thoughts so, too, and folded. Tokens
 * have the attributes of `AnswerText`, and `data-strength`: a page's policy lets no style be written into HTML.
 * @param events its events so far, for times, and for what came without tokens
 */
export function answerHtml(answer: Answer, method: Method, events: readonly RecordedEvent[] = []): string {
  const times = tokenTimes(events);
  const thoughts = (
    text: string,
    ranges: readonly TextRange[],
    tokens: readonly Token[],
    rest = '',
  ): string => {
    const [first = 0, next = 0] = [tokens[0]?.index, (tokens.at(-1)?.index ?? 0) + 1];
    const [from, to] = [times[first], times[next] ?? times[next - 1]];
    const words = thoughtsWords({
      going: rest === '' && next === answer.tokens.length && !isWritten(answer),
      ms: from === undefined || to === undefined ? null : to - from,
      flagged: ranges.filter(({ attributes }) => attributes['data-first'] !== undefined).length,
      scored: !isWritten(answer) || tokens.some(({ scores }) => scores !== null),
    });
    return thoughtsHtml(words, verbatimHtml(text, ranges));
  };
  const html = runs(tokenLooks(answer, method)).map((run) => {
    const { part } = run[0]?.token ?? {};
    const tokens = run.map(({ token }) => token);
    const ranges = rangesOf(run);
    const text = part === undefined ? answerText({ tokens }) : run.map((look) => look.text).join('');
    if (part === 'reasoning') return thoughts(text, ranges, tokens);
    if (part !== undefined) return verbatimHtml(text, ranges, part);
    const length = thoughtsLength(text);
    if (length === 0) return toHtml(text, ranges, !isWritten(answer));
    const [before, after] = splitAt(ranges, length);
    const [own, rest] = [tokens.slice(0, before.length), text.slice(length)];
    return thoughts(text.slice(0, length), before, own, rest) + toHtml(rest, after, !isWritten(answer));
  });
  const unscored = unscoredReasoning(events);
  if (unscored) {
    const going = answer.tokens.length === 0 && !isWritten(answer);
    const words = thoughtsWords({ going, ms: unscored.ms, flagged: 0, scored: false });
    html.unshift(thoughtsHtml(words, verbatimHtml(unscored.text, [])));
  }
  return [...html, ...struckBefore(answer, answer.tokens.length).map(struckHtml)].join('');
}

/** When each token came, by its index; one that was drawn again, the last time. */
function tokenTimes(events: readonly RecordedEvent[]): readonly number[] {
  const times: number[] = [];
  for (const { atMs, event } of events) if (event.type === 'token.delta') times[event.index] = atMs;
  return times;
}

/** The ranges before and after a place; the first ones are as many as the tokens that begin before it. */
function splitAt(
  ranges: readonly TextRange[],
  length: number,
): readonly [readonly TextRange[], readonly TextRange[]] {
  const before = ranges.filter(({ from }) => from < length);
  const across = before.filter(({ to }) => to > length);
  const shifted = ({ from, to, ...range }: TextRange) => ({ ...range, from: from - length, to: to - length });
  return [
    before.map((range) => ({ ...range, to: Math.min(range.to, length) })),
    [
      ...across.map(({ to, attributes: { 'data-first': _first, ...attributes } }) =>
        shifted({ from: length, to, attributes }),
      ),
      ...ranges.slice(before.length).map(shifted),
    ],
  ];
}

/** Neighbours of the same part. */
function runs(looks: readonly TokenLook[]): readonly (readonly TokenLook[])[] {
  const all: TokenLook[][] = [];
  for (const look of looks) {
    const run = all.at(-1);
    if (run && run[0]?.token.part === look.token.part) run.push(look);
    else all.push([look]);
  }
  return all;
}

function rangesOf(run: readonly TokenLook[]): readonly TextRange[] {
  let from = 0;
  return run.map(({ text, strength, struck, attributes: { 'data-mark': _mark, ...attributes } }) => {
    const begin = from;
    from += text.length;
    const written = Object.entries({ ...attributes, 'data-strength': strength.toFixed(3) });
    return {
      from: begin,
      to: from,
      attributes: Object.fromEntries([
        ['class', 'flinch-token'],
        ...written.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
      ]),
      struck,
    };
  });
}
