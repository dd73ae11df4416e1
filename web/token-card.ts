import { type Answer, formatRisk, rankWords, ratedPer, type Token } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { element } from './dom.js';
import { methodsOf, riskOf, scaleOf, scoreOf, stepAt } from './queries.js';
import { formatProbability, formatScore, METHOD_WORDS, visibleText } from './words.js';

export const TOKEN_CARD_ID = 'token-card';

const GAP_PX = 8;

const RANKED = 'Higher than this share of ordinary tokens; not the probability of an error.';

/** Element that the card belongs to. The rectangles are queried again after every scroll. */
export interface Anchor {
  readonly side: 'above' | 'below';
  rectangle(): DOMRect;
  /** Rectangle that the card should not cover. */
  around(): DOMRect;
}

/** The card with everything known about one token. There is one on the page; it goes where it is asked for. */
export class TokenCard {
  readonly element = element('div', { id: TOKEN_CARD_ID, class: 'card', role: 'tooltip', hidden: '' });
  #anchor: Anchor | null = null;

  show(answer: Answer, token: Token, chosen: Method, anchor: Anchor): void {
    this.#anchor = anchor;
    const id = token.id === null ? '' : ` · id ${token.id}`;
    const title = element(
      'p',
      { class: 'card-title' },
      element('span', { class: 'card-token' }, visibleText(token.partText ?? token.text)),
      element('span', { class: 'card-place' }, `#${token.index}${id}`),
    );
    const parts = [
      probability(token),
      scores(answer, token, chosen),
      rival(token),
      alternatives(token),
      step(answer, token),
    ];
    this.element.replaceChildren(title, ...parts.filter((part) => part !== null));
    this.element.hidden = false;
    this.place();
  }

  hide(): void {
    this.#anchor = null;
    this.element.hidden = true;
  }

  /** Places the card beside the answer if there is room, else above or below the token, within the window. */
  place(): void {
    if (!this.#anchor) return;
    const { side, rectangle, around } = this.#anchor;
    const { left, width, top, bottom } = rectangle();
    const { offsetWidth, offsetHeight } = this.element;
    const rightmost = window.innerWidth - offsetWidth - GAP_PX;
    const lowest = window.innerHeight - offsetHeight - GAP_PX;
    const beside = around().right + GAP_PX;
    const [above, below] = [top - offsetHeight - GAP_PX, bottom + GAP_PX];
    const over = above < GAP_PX || (side === 'below' && below <= lowest) ? below : above;
    const [x, y] = beside <= rightmost ? [beside, top] : [left + width / 2 - offsetWidth / 2, over];
    this.element.style.setProperty('left', `${Math.max(GAP_PX, Math.min(x, rightmost))}px`);
    this.element.style.setProperty('top', `${Math.max(GAP_PX, Math.min(y, lowest))}px`);
  }
}

const row = (...cells: readonly (HTMLElement | string)[]): HTMLElement =>
  element(
    'tr',
    {},
    ...cells.map((cell, at) => (at === 0 ? element('th', { scope: 'row' }, cell) : element('td', {}, cell))),
  );

function scores(answer: Answer, token: Token, chosen: Method): HTMLElement {
  const body = element('tbody');
  for (const method of methodsOf(answer)) {
    const score = scoreOf(token, method);
    const risk = riskOf(token, method);
    const value = score === null ? missing(answer, token, method) : formatScore(score);
    const line = row(METHOD_WORDS[method].name, value, risk === null ? '' : formatRisk(risk));
    line.classList.add('card-score');
    line.dataset.chosen = String(method === chosen);
    line.style.setProperty('--strength', String(score === null ? 0 : scaleOf(answer, method).of(token)));
    body.append(line);
  }
  const names = ['', 'Score', 'Higher than'].map((name) => element('th', { scope: 'col' }, name));
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...names)), body);
  const ranked = methodsOf(answer).some((method) => riskOf(token, method) !== null);
  return element('div', {}, table, ...(ranked ? [element('p', { class: 'card-note' }, RANKED)] : []));
}

function rival({ rival: other }: Token): HTMLElement | null {
  if (!other) return null;
  const change = `${formatProbability(other.before)} → ${formatProbability(other.after)}`;
  return section('Rival, under perturbation', row(quoted(other.text), change));
}

function alternatives({ topLogprobs, text }: Token): HTMLElement | null {
  if (topLogprobs.length === 0) return null;
  const lines = topLogprobs.map((other) => {
    const line = row(quoted(other.text), formatProbability(Math.exp(other.logprob)));
    line.classList.toggle('card-taken', other.text === text);
    return line;
  });
  return section('Most probable here', ...lines);
}

function step(answer: Answer, { index, inserted, spike }: Token): HTMLElement | null {
  const of = stepAt(answer, index);
  const parts: string[] = [];
  if (of) {
    const rank = of.risk === null ? 'not rated' : rankWords(of.risk, ratedPer(answer.guard?.per));
    parts.push(`Step ${of.step + 1}: ${rank}${of.flagged ? ', flagged' : ''}`);
  }
  if (spike) parts.push('Spike: this token alone reaches the threshold');
  if (inserted) parts.push('Inserted by the guard');
  return parts.length === 0 ? null : element('p', { class: 'card-step' }, parts.join(' · '));
}

function probability({ logprob }: Token): HTMLElement | null {
  if (logprob === null) return null;
  const value = `${formatProbability(Math.exp(logprob))}, log ${formatScore(logprob)}`;
  return element('table', {}, element('tbody', {}, row('Probability', value)));
}

const quoted = (text: string): HTMLElement => element('span', { class: 'card-token' }, visibleText(text));

const section = (title: string, ...rows: readonly HTMLElement[]): HTMLElement =>
  element('table', {}, element('caption', {}, title), element('tbody', {}, ...rows));

function missing(answer: Answer, token: Token, method: Method): string {
  if (token.skipped.includes(method))
    return token.reason === 'lag' ? 'not scored: scoring was slower than writing' : 'skipped: not doubtful';
  if (token.scores) return 'not computed';
  return answer.phase === 'streaming' ? 'not yet scored' : 'never scored';
}
