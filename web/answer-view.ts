import { type Answer, answerText, isOver } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { Chart } from './chart.js';
import { copyButton } from './copy.js';
import { Curves } from './curves.js';
import { element, setText } from './dom.js';
import { FormattedText } from './formatted-text.js';
import { Legend } from './legend.js';
import { Notes } from './notes.js';
import { methodsOf, scaleOf } from './queries.js';
import { toLines } from './recording.js';
import { ReplayBar } from './replay-bar.js';
import { Rollbacks } from './rollbacks.js';
import { type Exchange, recordingOf } from './session.js';
import { statusWords } from './status-words.js';
import type { Anchor, TokenCard } from './token-card.js';
import { TokenText } from './token-text.js';
import { describeError } from './words.js';

/** Tokens in their colours, or Markdown with nothing but flags. */
export type View = 'tokens' | 'formatted';

/** A question and its answer on the page: text, rollbacks, curves, legend, replay, status. */
export class AnswerView {
  readonly element: HTMLElement;
  readonly #answer = element('article', { class: 'answer', 'aria-label': 'Answer' });
  readonly #text = new TokenText((index) => this.#point(index, 'above', (at) => this.#text.place(at)));
  readonly #curves = new Curves(
    (index) => this.#point(index, 'below', (at) => this.#curves.place(at)),
    () => this.#draw(),
  );
  readonly #chart = new Chart(this.#curves.element);
  readonly #formatted = new FormattedText();
  readonly #rollbacks = new Rollbacks();
  readonly #legend = new Legend();
  readonly #notes = new Notes();
  readonly #replay = new ReplayBar((answer) => {
    this.#shown = answer;
    this.#draw();
  });
  readonly #status = element('p', { class: 'status' });
  readonly #failure = element('p', { class: 'failure', role: 'alert', hidden: '' });
  readonly #again = element('button', { type: 'button', class: 'quiet', disabled: '' }, 'Ask again');
  readonly #save = element('button', { type: 'button', class: 'quiet', hidden: '' }, 'Save');
  readonly #card: TokenCard;
  #exchange: Exchange;
  /** The answer that is drawn: as it stands, or as it was. */
  #shown: Answer;
  #method: Method;
  #view: View = 'tokens';
  #active: { index: number; anchor: Anchor } | null = null;

  constructor(exchange: Exchange, method: Method, card: TokenCard, askAgain: (question: string) => void) {
    this.#exchange = exchange;
    this.#shown = exchange.answer;
    this.#method = method;
    this.#card = card;
    this.#again.addEventListener('click', () => askAgain(exchange.question));
    this.#save.title = 'Save this answer with all its events. It can be opened again.';
    this.#save.addEventListener('click', () => save(this.#exchange));
    const copy = copyButton(() => answerText(this.#shown));
    const foot = element('div', { class: 'foot' }, this.#status, copy, this.#save, this.#again);
    const texts = [this.#text, this.#formatted].map(({ element }) => element);
    const parts = [this.#legend, this.#chart, this.#rollbacks, this.#replay].map(({ element }) => element);
    this.#answer.append(this.#notes.element, ...texts, this.#failure, ...parts, foot);
    const question = element('p', { class: 'question' }, exchange.question);
    this.element = element('section', { class: 'exchange' }, question, this.#answer);
    this.update(exchange, method);
  }

  update(exchange: Exchange, method: Method): void {
    const changed = exchange !== this.#exchange || !this.#answer.dataset.state;
    this.#exchange = exchange;
    this.#method = method;
    if (changed) {
      this.#shown = exchange.answer;
      if (isOver(exchange.answer) && exchange.events.length > 0) {
        this.#replay.offer(recordingOf(exchange));
        this.#save.hidden = false;
      }
    }
    const { phase } = exchange.answer;
    this.#answer.dataset.state = phase === 'waiting' ? 'streaming' : phase;
    this.#answer.setAttribute('aria-busy', String(!isOver(exchange.answer)));
    this.#draw();
  }

  /** Whether "Ask again" can be pressed: not while any answer is being written. */
  allowAsking(allowed: boolean): void {
    this.#again.disabled = !allowed;
  }

  showAs(view: View): void {
    this.#view = view;
    this.#draw();
  }

  /** Once the answer is on the page. */
  openChart(): void {
    this.#chart.open();
  }

  #draw(): void {
    const answer = this.#shown;
    const methods = methodsOf(answer);
    const method = methods.includes(this.#method) ? this.#method : (methods[0] ?? this.#method);
    const scale = scaleOf(answer, method);
    this.#notes.update(answer);
    this.#text.update(answer, method, scale);
    const formatted = this.#view === 'formatted';
    this.#text.element.hidden = formatted;
    // Formatted text has no colours to explain; without scores there is nothing to draw.
    this.#legend.element.hidden = formatted || methods.length === 0;
    this.#chart.element.hidden = methods.length === 0;
    this.#formatted.element.hidden = !formatted;
    if (formatted) this.#formatted.update(answer);
    this.#curves.update(answer, method);
    this.#legend.update(answer, method, scale);
    this.#rollbacks.update(answer);
    setText(this.#status, statusWords(this.#exchange, answer, method));
    this.#failure.hidden = answer.error === null;
    setText(this.#failure, answer.error ? describeError(answer.error) : '');
    if (this.#active) this.#showCard(method);
  }

  #point(index: number | null, side: Anchor['side'], place: (index: number) => DOMRect): void {
    if (index === (this.#active?.index ?? null)) return;
    const around = () => this.#answer.getBoundingClientRect();
    this.#active = index === null ? null : { index, anchor: { side, rectangle: () => place(index), around } };
    this.#text.highlight(index);
    this.#curves.highlight(index);
    if (this.#active) this.#showCard(this.#method);
    else this.#card.hide();
  }

  #showCard(method: Method): void {
    const token = this.#active && this.#shown.tokens[this.#active.index];
    if (this.#active && token) this.#card.show(this.#shown, token, method, this.#active.anchor);
    else this.#card.hide(); // the token was retracted under the pointer
  }
}

function save(exchange: Exchange): void {
  const url = URL.createObjectURL(new Blob([toLines(recordingOf(exchange))], { type: 'application/jsonl' }));
  element('a', { href: url, download: 'flinch-answer.jsonl' }).click();
  // The download has its own reference by then.
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
