import type { CheckRecord } from '../records/records.js';
import { readAsset } from './assets.js';
import { Html, html, shownText } from './html.js';
import { pageOf } from './page.js';

/** An answer of a run, and what is known of it. */
export interface ListedAnswer {
  readonly id: string;
  readonly group: string;
  readonly question: string;
  readonly reference: string | null;
  readonly extracted: string | null;
  /** `null`: unsure. */
  readonly correct: boolean | null;
  readonly by: CheckRecord['by'];
  /** Of the whole answer, by the best measure; `null` where there is none. */
  readonly score: number | null;
  /** Texts of the tokens, and their scores by what colours them. */
  readonly texts: readonly string[];
  readonly scores: readonly (number | null)[];
  /** Tokens of the first wrong step: from, and up to but without. */
  readonly wrong: readonly [number, number] | null;
}

export interface AnswerList {
  readonly title: string;
  /** Of the run. */
  readonly folder: string;
  /** Name of the score, for people. */
  readonly score: string | null;
  readonly answers: readonly ListedAnswer[];
}

/** Name of the file of labels. */
const FILE = 'labels.jsonl';

/** Shares of tokens that score lower, from which on a token has the next deeper colour. */
const SHADES: readonly (readonly [from: number, words: string])[] = [
  [0.5, 'upper half'],
  [0.75, 'quarter'],
  [0.9, 'tenth'],
  [0.95, 'twentieth'],
  [0.99, 'hundredth'],
];

/** All answers of a run: a list that is searched, and whose labels are mended and saved as a file. */
export function renderAnswers({ title, folder, score, answers }: AnswerList): string {
  const data = {
    file: FILE,
    measure: score ?? 'none',
    answers: bySurprise(answers).map(dataOf),
  };
  return pageOf({ title: 'Answers', lead: [title] }, bodyOf(folder, data), readAsset('answers.js'));
}

const bodyOf = (folder: string, data: object): Html => html`<main>
<p>Unsure answers come first, then those whose label and score disagree most: right ones with a high score, and wrong ones with a low one. A deeper colour means that a token’s score ranks higher within its answer; ¹ ² ³ are the three highest.</p>
<p class="legend">${SHADES.map(([, words], i) => html`<span class="t h${i + 1}">${words}</span> `)}<span class="wrong">first wrong step</span></p>
<p>Score: <b id="measure"></b>. Choose a label where it is wrong, or to confirm it. Save, and run:</p>
<pre><code>flinch bench report ${folder} --labels ${FILE}</code></pre>
<noscript><p>This list needs JavaScript; report.html does not.</p></noscript>
<form id="controls" hidden="hidden">
<label>Search <input id="search" type="search" /></label>
<label>Show <select id="filter"><option value="all">all</option><option value="unsure">unsure</option><option value="wrong">wrong</option><option value="right">right</option><option value="chosen">labelled here</option></select></label>
<label>Sort <select id="sort"><option value="surprising">unsure and surprising first</option><option value="highest">highest score first</option><option value="lowest">lowest score first</option></select></label>
<span id="count" role="status"></span>
<button id="save" type="button" disabled="disabled">Save</button>
</form>
<div id="list"></div>
<button id="more" type="button" hidden="hidden">More</button>
</main>
<script type="application/json" id="answers">${new Html(inMarkup(data))}</script>`;

/** JSON in which no character ends an element, or is not seen. */
const inMarkup = (data: object): string =>
  JSON.stringify(data).replace(
    /[<>&\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Unsure ones first; then by the share of answers that speak against the label. */
export function bySurprise(answers: readonly ListedAnswer[]): ListedAnswer[] {
  const scores = answers.flatMap(({ score }) => score ?? []).sort((a, b) => a - b);
  const surprise = ({ correct, score }: ListedAnswer): number => {
    if (correct === null) return Number.POSITIVE_INFINITY;
    if (score === null) return -1;
    const lower = scores.findIndex((other) => other >= score);
    return correct ? lower : scores.length - 1 - scores.findLastIndex((other) => other <= score);
  };
  const surprises = new Map(answers.map((answer) => [answer, surprise(answer)]));
  return answers.toSorted((a, b) => {
    const [of, other] = [surprises.get(a)!, surprises.get(b)!];
    return of === other ? 0 : other - of;
  });
}

function dataOf({ correct, texts, scores, score, by, wrong, ...answer }: ListedAnswer): object {
  const heats = tokenHeats(scores);
  const shown = (text: string | null): string | null => (text === null ? null : shownText(text));
  return {
    id: answer.id,
    group: shown(answer.group),
    question: shown(answer.question),
    reference: shown(answer.reference),
    extracted: shown(answer.extracted),
    label: correct === null ? 'unsure' : correct ? 'right' : 'wrong',
    by,
    score,
    texts: texts.map(shown),
    shades: texts.map((_, i) => shadeOf(heats[i] ?? null)).join(''),
    ranks: Object.fromEntries(heats.flatMap((heat, i) => (heat?.rank ? [[i, heat.rank]] : []))),
    wrong,
  };
}

interface TokenHeat {
  /** Share of the response's tokens that score lower, 0 to 1. */
  readonly quantile: number;
  /** 1 to 3 for the highest; ties share a rank. */
  readonly rank: number | null;
}

function shadeOf(heat: TokenHeat | null): string {
  if (heat === null) return '-';
  // Even the highest token of a short response is not above 99 of 100.
  if (heat.rank === 1) return String(SHADES.length);
  return String(SHADES.findLastIndex(([from]) => heat.quantile >= from) + 1);
}

/** A score equal to the lowest is no doubt, however many share it (docs/design/evaluation.md, section 0.1). */
export function tokenHeats(scores: readonly (number | null)[]): (TokenHeat | null)[] {
  const known = scores.filter((score) => score !== null).sort((a, b) => a - b);
  return scores.map((score) => {
    if (score === null) return null;
    const lower = known.findIndex((other) => other >= score);
    const higher = known.length - known.findLastIndex((other) => other <= score) - 1;
    return { quantile: lower / known.length, rank: higher < 3 && lower > 0 ? higher + 1 : null };
  });
}
