import { fixed } from './cell-text.js';
import {
  type CaseBlock,
  type CaseMeasure,
  type CaseToken,
  type TokenHeat,
  WHAT_IS_WRONG,
  type WhatIsWrong,
} from './document.js';
import { Html, html } from './html.js';
import { tokenRuns } from './token-runs.js';

/** Shares of tokens that score lower, from which on a token has the next deeper colour. */
const SHADES: readonly { readonly from: number; readonly words: string }[] = [
  { from: 0.5, words: 'upper half' },
  { from: 0.75, words: 'quarter' },
  { from: 0.9, words: 'tenth' },
  { from: 0.95, words: 'twentieth' },
  { from: 0.99, words: 'hundredth' },
];

/** One response, its tokens coloured by each measure in turn. What colour says is said by signs too. */
export function renderCase(block: CaseBlock): Html {
  const { title, folded, question, verdict, tokens, measures } = block;
  const what = WHAT_IS_WRONG[verdict.of];
  return html`<details class="case"${new Html(folded ? '' : ' open="open"')}>
<summary><bdi>${title}</bdi></summary>
<dl>
<dt>Question</dt><dd class="prose" dir="auto">${question}</dd>
${renderVerdict(verdict)}</dl>
${legend(tokens.some(({ wrong }) => wrong) ? what : null)}
<div class="strips">
${measures.map((measure) => renderMeasure(measure, tokens, what))}</div>
</details>
`;
}

function renderVerdict(verdict: CaseBlock['verdict']): Html {
  if (verdict.of === 'claims')
    return html`<dt>Statements</dt><dd>${verdict.supported} supported, ${verdict.unsupported} unsupported</dd>
`;
  const { reference, extracted, correct } = verdict;
  return html`<dt>Reference</dt><dd><bdi>${reference ?? 'none'}</bdi></dd>
<dt>Answer</dt><dd><bdi>${extracted ?? 'none found'}</bdi> <span class="verdict">${correct ? '✓ right' : '✗ wrong'}</span></dd>
`;
}

/** @param what is enclosed, if anything is */
const legend = (what: WhatIsWrong | null): Html =>
  html`<p class="legend">${SHADES.map(
    ({ words }, i) => html`<span class="t h${i + 1}">${words}</span> `,
  )}<span class="t h5">highest<sup>1</sup></span> ${
    what && html`<span class="wrong">⟦${what.noun}⟧</span>`
  }</p>`;

function renderMeasure(
  { label, scores, hit }: CaseMeasure,
  tokens: readonly CaseToken[],
  what: WhatIsWrong,
): Html {
  const verdict =
    hit === null
      ? null
      : html` <small class="hit">${hit ? '✓ one' : '✗ none'} of the three highest is in ${what.article} ${what.noun}</small>`;
  const runs = tokenRuns(tokens).map(({ from, to, wrong, tail }) => {
    const spans = tokens.slice(from, to).map(({ text }, i) => {
      const shown = tail !== '' && from + i === to - 1 ? text.trimEnd() : text;
      return renderToken(shown, scores[from + i]);
    });
    return wrong ? html`<span class="wrong">⟦${spans}⟧</span>${tail}` : html`${spans}`;
  });
  return html`<div><h4>${label}${verdict}</h4>
<p class="tokens" dir="auto">${runs}</p></div>
`;
}

function renderToken(text: string, heat: TokenHeat | undefined): Html {
  const shade = heat ? shadeOf(heat) : 0;
  const unscored = !heat || heat.score === null;
  const classes = [
    't',
    shade > 0 ? `h${shade}` : '',
    unscored ? 'unscored' : '',
    text.includes('\n') && text.trim() === '' ? 'break' : '',
  ]
    .filter((name) => name !== '')
    .join(' ');
  const title = unscored ? 'not scored' : formatScore(heat.score ?? 0);
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

const formatScore = (score: number): string =>
  Math.abs(score) < 1e-3 && score !== 0 ? score.toExponential(2) : fixed(score, 4);
