import { type Answer, answerText } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { struckBefore, type TokenLook, tokenLooks } from 'flinch-react';
import { struckHtml, type TextRange, toHtml, verbatimHtml } from './markdown.js';

/**
 * An answer as HTML, its text as Markdown, its reasoning and tool calls as they were written. Tokens have the attributes
 * of `AnswerText`, and `data-strength`: a page's policy lets no style be written into HTML.
 */
export function answerHtml(answer: Answer, method: Method): string {
  const html = runs(tokenLooks(answer, method)).map((run) => {
    const { part } = run[0]?.token ?? {};
    if (part === undefined)
      return toHtml(answerText({ tokens: run.map(({ token }) => token) }), rangesOf(run));
    return verbatimHtml(run.map(({ text }) => text).join(''), rangesOf(run), part);
  });
  return [...html, ...struckBefore(answer, answer.tokens.length).map(struckHtml)].join('');
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
