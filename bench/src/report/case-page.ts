import { formatScore } from './cell-text.js';
import type { CaseBlock, CaseToken, TokenHeat } from './document.js';
import { type Html, html } from './html.js';

/** Shares of tokens that score lower, from which on a token has the next deeper colour. */
const SHADES: readonly { readonly from: number; readonly words: string }[] = [
  { from: 0.5, words: 'upper half' },
  { from: 0.75, words: 'quarter' },
  { from: 0.9, words: 'tenth' },
  { from: 0.95, words: 'twentieth' },
  { from: 0.99, words: 'hundredth' },
];

/** One answer, its tokens coloured by their scores. What colour says is said by signs too. */
export const renderCase = ({ title, question, measure, tokens, ...answer }: CaseBlock): Html =>
  html`<details class="case" open="open">
<summary><bdi>${title}</bdi></summary>
<dl>
<dt>Question</dt><dd class="prose" dir="auto">${question}</dd>
<dt>Reference</dt><dd><bdi>${answer.reference ?? 'none'}</bdi></dd>
<dt>Answer</dt><dd><bdi>${answer.extracted ?? 'none found'}</bdi> <span class="verdict">${answer.correct ? '✓ right' : '✗ wrong'}</span></dd>
</dl>
<p class="legend">${SHADES.map(({ words }, i) => html`<span class="t h${i + 1}">${words}</span> `)}<span class="t h5">highest<sup>1</sup></span> ${
    tokens.some(({ wrong }) => wrong) ? html`<span class="wrong">⟦first wrong step⟧</span>` : null
  }</p>
<h4>${measure}</h4>
<p class="tokens" dir="auto">${tokenRuns(tokens).map((run) => renderRun(run, tokens))}</p>
</details>
`;

function renderRun({ from, to, wrong, tail }: TokenRun, tokens: readonly CaseToken[]): Html {
  const spans = tokens.slice(from, to).map(({ text, heat }, i) => {
    const isLast = from + i === to - 1;
    return renderToken(isLast && tail !== '' ? text.trimEnd() : text, heat);
  });
  return wrong ? html`<span class="wrong">⟦${spans}⟧</span>${tail}` : html`${spans}`;
}

function renderToken(text: string, heat: TokenHeat | null): Html {
  const shade = heat ? shadeOf(heat) : 0;
  const classes = [
    't',
    shade > 0 ? `h${shade}` : '',
    heat ? '' : 'unscored',
    text.includes('\n') && text.trim() === '' ? 'break' : '',
  ]
    .filter((name) => name !== '')
    .join(' ');
  const title = heat ? formatScore(heat.score, 4) : 'not scored';
  // A line break would leave a coloured space behind.
  const [, space = '', rest = ''] = /^([ \t]*)(.*)$/s.exec(text) ?? [];
  const [before, shown] = rest === '' ? ['', text] : [space, rest];
  return html`${before}<span class="${classes}" title="${title}">${shown}${heat?.rank ? html`<sup>${heat.rank}</sup>` : null}</span>`;
}

function shadeOf({ quantile, rank }: TokenHeat): number {
  // Even the highest token of a short response is not above 99 of 100.
  if (rank === 1) return SHADES.length;
  return SHADES.findLastIndex(({ from }) => quantile >= from) + 1;
}

/** Neighbouring tokens that are alike in being of what is wrong or not: from, and up to but without. */
interface TokenRun {
  readonly from: number;
  readonly to: number;
  readonly wrong: boolean;
  /** White space at the end of a wrong one, which its mark leaves out: a line break would take the mark along. */
  readonly tail: string;
}

function tokenRuns(tokens: readonly CaseToken[]): TokenRun[] {
  const starts = tokens.flatMap(({ wrong }, i) => (i === 0 || tokens[i - 1]?.wrong !== wrong ? [i] : []));
  return starts.map((from, i) => {
    const to = starts[i + 1] ?? tokens.length;
    const { text, wrong } = tokens[to - 1]!;
    return { from, to, wrong, tail: wrong ? text.slice(text.trimEnd().length) : '' };
  });
}
