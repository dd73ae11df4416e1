import { fullScale, strength } from './colour.js';
import { element } from './dom.js';
import { METHODS, type Method } from './protocol.js';
import { type Answer, scoreOf, strongest, type Token } from './state.js';
import { formatProbability, formatScore, METHOD_WORDS, visibleText } from './words.js';

export const TOKEN_CARD_ID = 'token-card';

const GAP_PX = 8;

/** What the card stands beside. The rectangle is asked for again after every scroll. */
export interface Anchor {
  readonly side: 'above' | 'below';
  rectangle(): DOMRect;
}

/** The card with everything known about one token. There is one on the page; it goes where it is asked for. */
export class TokenCard {
  readonly element = element('div', { id: TOKEN_CARD_ID, class: 'card', role: 'tooltip', hidden: '' });
  #anchor: Anchor | null = null;

  show(answer: Answer, token: Token, chosen: Method, anchor: Anchor): void {
    this.#anchor = anchor;
    this.element.replaceChildren(
      element(
        'p',
        { class: 'card-title' },
        element('span', { class: 'card-token' }, visibleText(token.text)),
        element('span', { class: 'card-place' }, `#${token.index} · id ${token.id}`),
      ),
      facts(answer, token, chosen),
    );
    this.element.hidden = false;
    this.place();
  }

  hide(): void {
    this.#anchor = null;
    this.element.hidden = true;
  }

  /** On the anchor's preferred side if there is room, else on the other, never beyond the window's edges. */
  place(): void {
    if (!this.#anchor) return;
    const { side, rectangle } = this.#anchor;
    const anchor = rectangle();
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const left = Math.min(anchor.left + anchor.width / 2 - width / 2, window.innerWidth - width - GAP_PX);
    const above = anchor.top - height - GAP_PX;
    const below = anchor.bottom + GAP_PX;
    const fitsBelow = below + height + GAP_PX <= window.innerHeight;
    const top = above < GAP_PX || (side === 'below' && fitsBelow) ? below : above;
    this.element.style.setProperty('left', `${Math.max(GAP_PX, left)}px`);
    this.element.style.setProperty('top', `${top}px`);
  }
}

function facts(answer: Answer, token: Token, chosen: Method): HTMLElement {
  const list = element('dl');
  const add = (name: string, value: string, attributes: Record<string, string> = {}) => {
    const row = element('div', attributes, element('dt', {}, name), element('dd', {}, value));
    list.append(row);
    return row;
  };
  add('Probability', `${formatProbability(Math.exp(token.logprob))} (log ${formatScore(token.logprob)})`);
  for (const method of METHODS) {
    const score = scoreOf(token, method);
    const value = score === null ? missing(answer, token, method) : formatScore(score);
    const row = add(METHOD_WORDS[method].name, value, {
      class: 'card-score',
      'data-chosen': String(method === chosen),
    });
    const full = fullScale(method, strongest(answer, method)?.score ?? null);
    row.style.setProperty('--strength', String(score === null ? 0 : strength(score, full)));
  }
  if (token.rival) {
    const { text, before, after } = token.rival;
    const change = `${formatProbability(before)} → ${formatProbability(after)}`;
    const row = add('Rival', change, { class: 'card-rival' });
    row.querySelector('dt')?.append(' ', element('span', { class: 'card-token' }, visibleText(text)));
  }
  return list;
}

function missing(answer: Answer, token: Token, method: Method): string {
  if (token.skipped.includes(method)) return 'skipped: the model was sure';
  if (token.scores) return 'not computed';
  return answer.phase === 'streaming' ? 'not yet scored' : 'never scored';
}
