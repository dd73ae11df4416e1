import { type Answer, answerText } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { AnswerView, type View } from './answer-view.js';
import { setText } from './dom.js';
import { methodsOf, strongest, unscoredTokens } from './queries.js';
import type { Exchange } from './session.js';
import { TokenCard } from './token-card.js';
import { countTokens, finishWords, formatScore, METHOD_WORDS } from './words.js';

/** How near to its end the page must be to be kept there while an answer grows. */
const NEAR_END_PX = 80;

export interface TranscriptOptions {
  readonly scroller: HTMLElement;
  readonly list: HTMLElement;
  readonly announcer: HTMLElement;
  readonly method: Method;
  readonly askAgain: (question: string) => void;
}

/** All exchanges, oldest first. Draws at most once per frame, however many events arrive. */
export class Transcript {
  readonly #options: TranscriptOptions;
  readonly #card = new TokenCard();
  readonly #views = new Map<string, AnswerView>();
  readonly #latest = new Map<string, Exchange>();
  readonly #dirty = new Set<string>();
  #method: Method;
  #view: View = 'tokens';
  #atEnd = true;
  #askingAllowed = false;
  #frame = 0;

  constructor(options: TranscriptOptions) {
    this.#options = options;
    this.#method = options.method;
    const { scroller } = options;
    document.body.append(this.#card.element);
    scroller.addEventListener('scroll', () => {
      this.#atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END_PX;
      this.#card.place();
    });
    window.addEventListener('resize', () => this.#card.place());
  }

  show(exchange: Exchange): void {
    const { id, answer } = exchange;
    const before = this.#latest.get(id)?.answer.phase;
    if (before === undefined) this.#atEnd = true;
    if (before !== answer.phase) this.#announce(answer);
    this.#latest.set(id, exchange);
    this.#draw(id);
  }

  colourBy(method: Method): void {
    this.#method = method;
    for (const id of this.#latest.keys()) this.#draw(id);
  }

  showAs(view: View): void {
    this.#view = view;
    for (const each of this.#views.values()) each.showAs(view);
  }

  clear(): void {
    this.#card.hide();
    this.#views.clear();
    this.#latest.clear();
    this.#dirty.clear();
    this.#options.list.replaceChildren();
  }

  allowAsking(allowed: boolean): void {
    this.#askingAllowed = allowed;
    for (const view of this.#views.values()) view.allowAsking(allowed);
  }

  #draw(id: string): void {
    this.#dirty.add(id);
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    this.#frame = 0;
    for (const id of this.#dirty) {
      const exchange = this.#latest.get(id);
      if (!exchange) continue;
      const view = this.#views.get(id);
      if (view) view.update(exchange, this.#method);
      else this.#add(exchange);
    }
    this.#dirty.clear();
    const { scroller } = this.#options;
    if (this.#atEnd) scroller.scrollTop = scroller.scrollHeight;
  }

  #add(exchange: Exchange): void {
    const view = new AnswerView(exchange, this.#method, this.#card, this.#options.askAgain);
    view.allowAsking(this.#askingAllowed);
    view.showAs(this.#view);
    this.#views.set(exchange.id, view);
    this.#options.list.append(view.element);
    view.openChart();
  }

  /** Tells screen readers that writing began, and once at the end the whole answer and its weakest spot. */
  #announce(answer: Answer): void {
    const { announcer } = this.#options;
    if (answer.phase === 'waiting') setText(announcer, 'Answering');
    if (answer.phase !== 'done') return;
    const top = strongest(answer, this.#method);
    const unscored = methodsOf(answer).length > 0 ? unscoredTokens(answer, this.#method) : 0;
    const parts = [
      answerText(answer),
      `Answer ${answer.finishReason ? finishWords(answer.finishReason) : ''}, ${countTokens(answer.tokens.length)}`,
    ];
    if (top) {
      const { noun } = METHOD_WORDS[this.#method];
      parts.push(
        `strongest ${noun} ${formatScore(top.score)} at “${(top.token.partText ?? top.token.text).trim()}”`,
      );
    }
    const flagged = answer.flags.length;
    if (flagged > 0) parts.push(`${flagged} ${flagged === 1 ? 'step' : 'steps'} flagged`);
    const replaced = answer.rollbacks.filter(({ outcome }) => outcome === 'replaced').length;
    if (replaced > 0) parts.push(`${replaced} replaced`);
    if (unscored > 0) parts.push(`${countTokens(unscored)} without a score`);
    setText(announcer, parts.join('. '));
  }
}
