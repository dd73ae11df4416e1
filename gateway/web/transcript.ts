import { AnswerView } from './answer-view.js';
import { setText } from './dom.js';
import type { Method } from './protocol.js';
import type { Exchange } from './session.js';
import { type Answer, answerText, strongest, unscoredTokens } from './state.js';
import { TokenCard } from './token-card.js';
import { countTokens, FINISH_WORDS, formatScore, METHOD_WORDS } from './words.js';

/** How near to its end the page must be to be kept there while an answer grows. */
const NEAR_END_PX = 80;

/** All exchanges, oldest first. Draws at most once per frame, however many events arrive. */
export class Transcript {
  readonly #scroller: HTMLElement;
  readonly #list: HTMLElement;
  readonly #announcer: HTMLElement;
  readonly #askAgain: (question: string) => void;
  readonly #card = new TokenCard();
  readonly #views = new Map<string, AnswerView>();
  readonly #latest = new Map<string, Exchange>();
  readonly #dirty = new Set<string>();
  #method: Method;
  #atEnd = true;
  #askingAllowed = false;
  #frame = 0;

  constructor(
    scroller: HTMLElement,
    list: HTMLElement,
    announcer: HTMLElement,
    method: Method,
    askAgain: (question: string) => void,
  ) {
    this.#scroller = scroller;
    this.#list = list;
    this.#announcer = announcer;
    this.#method = method;
    this.#askAgain = askAgain;
    document.body.append(this.#card.element);
    scroller.addEventListener('scroll', () => {
      this.#atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END_PX;
      this.#card.place();
    });
    window.addEventListener('resize', () => this.#card.place());
  }

  show(exchange: Exchange): void {
    const { requestId, answer } = exchange;
    const before = this.#latest.get(requestId)?.answer.phase;
    if (before === undefined) this.#atEnd = true;
    if (before !== answer.phase) this.#announce(answer);
    this.#latest.set(requestId, exchange);
    this.#draw(requestId);
  }

  colourBy(method: Method): void {
    this.#method = method;
    for (const requestId of this.#latest.keys()) this.#draw(requestId);
  }

  allowAsking(allowed: boolean): void {
    this.#askingAllowed = allowed;
    for (const view of this.#views.values()) view.allowAsking(allowed);
  }

  #draw(requestId: string): void {
    this.#dirty.add(requestId);
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    this.#frame = 0;
    for (const requestId of this.#dirty) {
      const exchange = this.#latest.get(requestId);
      if (!exchange) continue;
      const view = this.#views.get(requestId);
      if (view) view.update(exchange, this.#method);
      else this.#add(exchange);
    }
    this.#dirty.clear();
    if (this.#atEnd) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #add(exchange: Exchange): void {
    const view = new AnswerView(exchange, this.#method, this.#card, this.#askAgain);
    view.allowAsking(this.#askingAllowed);
    this.#views.set(exchange.requestId, view);
    this.#list.append(view.element);
  }

  /** For screen readers: that writing began, and once at the end the whole answer and its weakest spot. */
  #announce(answer: Answer): void {
    if (answer.phase === 'waiting') setText(this.#announcer, 'Answering');
    if (answer.phase !== 'done') return;
    const top = strongest(answer, this.#method);
    const unscored = unscoredTokens(answer, this.#method);
    const parts = [
      answerText(answer),
      `Answer ${answer.finishReason ? FINISH_WORDS[answer.finishReason] : ''}, ${countTokens(answer.tokens.length)}`,
    ];
    if (top) {
      const { noun } = METHOD_WORDS[this.#method];
      parts.push(`strongest ${noun} ${formatScore(top.score)} at “${top.token.text.trim()}”`);
    }
    if (unscored > 0) parts.push(`${countTokens(unscored)} without a score`);
    setText(this.#announcer, parts.join('. '));
  }
}
