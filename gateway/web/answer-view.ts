import { fullScale } from './colour.js';
import { Curve } from './curve.js';
import { element, setText } from './dom.js';
import type { Method } from './protocol.js';
import type { Exchange } from './session.js';
import {
  type Answer,
  isOver,
  skippedTokens,
  strongest,
  type Token,
  tokensPerSecond,
  unscoredTokens,
} from './state.js';
import type { Anchor, TokenCard } from './token-card.js';
import { TokenText } from './token-text.js';
import { countTokens, FINISH_WORDS, formatScore, METHOD_WORDS } from './words.js';

/** A question and its answer on the page: text, curve, legend, status. */
export class AnswerView {
  readonly element: HTMLElement;
  readonly #answer = element('article', { class: 'answer', 'aria-label': 'Answer' });
  readonly #text: TokenText;
  readonly #curve: Curve;
  readonly #legendTop = element('span', { class: 'legend-top' });
  readonly #legendSkipped = element('span', { class: 'legend-skipped', hidden: '' }, 'skipped: sure');
  readonly #status = element('p', { class: 'status' });
  readonly #failure = element('p', { class: 'failure', role: 'alert', hidden: '' });
  readonly #again = element('button', { type: 'button', class: 'quiet', disabled: '' }, 'Ask again');
  readonly #card: TokenCard;
  #exchange: Exchange;
  #method: Method;
  #active: { index: number; anchor: Anchor } | null = null;
  /** The tokens as they were last drawn, and under which method and scale. */
  #drawn: { tokens: readonly Token[]; method: Method; full: number } | null = null;

  constructor(exchange: Exchange, method: Method, card: TokenCard, askAgain: (question: string) => void) {
    this.#exchange = exchange;
    this.#method = method;
    this.#card = card;
    this.#text = new TokenText((index) => this.#point(index, 'above', (at) => this.#text.place(at)));
    this.#curve = new Curve((index) => this.#point(index, 'below', (at) => this.#curve.place(at)));
    this.#again.addEventListener('click', () => askAgain(exchange.question));
    const legend = element(
      'p',
      { class: 'legend' },
      '0',
      element('span', { class: 'legend-ramp' }),
      this.#legendTop,
      element('span', { class: 'legend-missing' }, 'no score'),
      this.#legendSkipped,
    );
    const foot = element('div', { class: 'foot' }, this.#status, this.#again);
    this.#answer.append(this.#text.element, this.#failure, this.#curve.element, legend, foot);
    this.element = element(
      'section',
      { class: 'exchange' },
      element('p', { class: 'question' }, exchange.question),
      this.#answer,
    );
    this.update(exchange, method);
  }

  update(exchange: Exchange, method: Method): void {
    const { answer } = exchange;
    this.#exchange = exchange;
    this.#method = method;
    const top = strongest(answer, method);
    const full = fullScale(method, top?.score ?? null);
    this.#answer.dataset.state = answer.phase === 'waiting' ? 'streaming' : answer.phase;
    this.#answer.setAttribute('aria-busy', String(!isOver(answer)));
    const changed = this.#changed(answer.tokens, method, full);
    this.#text.update(changed, answer.tokens.length, method, full);
    this.#curve.update(answer, changed, method, full);
    setText(this.#legendTop, legendWords(answer, top?.score ?? null, full));
    this.#legendSkipped.hidden = skippedTokens(answer, method) === 0;
    setText(this.#status, statusWords(answer, method));
    this.#failure.hidden = answer.failure === null;
    setText(this.#failure, answer.failure ?? '');
    if (this.#active) this.#showCard();
  }

  /** Whether "Ask again" can be pressed: not while any answer is being written. */
  allowAsking(allowed: boolean): void {
    this.#again.disabled = !allowed;
  }

  #changed(tokens: readonly Token[], method: Method, full: number): readonly Token[] {
    const last = this.#drawn;
    this.#drawn = { tokens, method, full };
    if (last?.method !== method || last.full !== full) return tokens;
    return tokens.filter((token) => token !== last.tokens[token.index]);
  }

  #point(index: number | null, side: Anchor['side'], place: (index: number) => DOMRect): void {
    if (index === (this.#active?.index ?? null)) return;
    this.#active = index === null ? null : { index, anchor: { side, rectangle: () => place(index) } };
    this.#text.highlight(index);
    this.#curve.highlight(index);
    if (this.#active) this.#showCard();
    else this.#card.hide();
  }

  #showCard(): void {
    const { answer } = this.#exchange;
    const token = this.#active && answer.tokens[this.#active.index];
    if (this.#active && token) this.#card.show(answer, token, this.#method, this.#active.anchor);
    else this.#card.hide(); // the token was retracted under the pointer
  }
}

function legendWords(answer: Answer, top: number | null, full: number): string {
  if (top === null) return 'nothing scored yet';
  const so = isOver(answer) ? 'strongest in this answer' : 'strongest so far in this answer';
  return top < full ? `${formatScore(full)} (${so}: ${formatScore(top)})` : `${formatScore(top)} (${so})`;
}

function statusWords(answer: Answer, method: Method): string {
  if (answer.phase === 'waiting') return `${answer.model} · waiting for the first token`;
  const rate = tokensPerSecond(answer);
  const unscored = unscoredTokens(answer, method);
  const skipped = skippedTokens(answer, method);
  const parts = [answer.model, countTokens(answer.tokens.length)];
  if (rate !== null) parts.push(`${rate < 10 ? rate.toFixed(1) : Math.round(rate)} tokens/s`);
  if (skipped > 0) parts.push(`${countTokens(skipped)} skipped`);
  if (answer.phase === 'streaming') parts.push(`writing, scores ${countTokens(unscored)} behind`);
  else if (unscored > 0) parts.push(`${countTokens(unscored)} without ${METHOD_WORDS[method].noun}`);
  else if (answer.tokens.length > 0)
    parts.push(skipped > 0 ? 'every other token scored' : 'every token scored');
  if (answer.phase === 'failed') parts.push('failed');
  if (answer.finishReason) parts.push(FINISH_WORDS[answer.finishReason]);
  return parts.join(' · ');
}
