import { axisRoom, axisTicks } from './axis.js';
import { strength } from './colour.js';
import { element, setText, svgElement } from './dom.js';
import type { Method } from './protocol.js';
import { type Answer, isOver, scoreOf, scoreState, type Token } from './state.js';
import { formatScore, METHOD_WORDS } from './words.js';

/** Height of the plot in its own units, whatever its size on the screen. */
const HEIGHT = 100;
/** So that a token that scored 0 still differs from one that was never scored. */
const LEAST_HEIGHT = 1.5;

/** A bar per token, drawn in units of tokens and stretched to the width there is. */
export class Curve {
  readonly element: HTMLElement;
  readonly #svg = svgElement('svg', { preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  readonly #lines = svgElement('g', { class: 'curve-newlines' });
  readonly #bars = svgElement('g');
  readonly #cursor = svgElement('rect', { class: 'curve-cursor', y: 0, width: 1, height: HEIGHT });
  readonly #top = element('span');
  readonly #title = element('figcaption', { class: 'curve-title' });
  readonly #ticks = element('div', { class: 'curve-ticks', 'aria-hidden': 'true' });
  #drawn: SVGRectElement[] = [];
  /** Of tokens that end a line. */
  readonly #newlines = new Map<number, SVGLineElement>();
  #room = 0;

  /** `point` hears which token the pointer is over, and null when it leaves. */
  constructor(point: (index: number | null) => void) {
    this.#cursor.setAttribute('visibility', 'hidden');
    this.#svg.append(this.#cursor, this.#lines, this.#bars);
    this.element = element(
      'figure',
      { class: 'curve' },
      this.#title,
      element('div', { class: 'curve-scale', 'aria-hidden': 'true' }, this.#top, element('span', {}, '0')),
      element('div', { class: 'curve-plot' }),
      element('span', { class: 'curve-axis', 'aria-hidden': 'true' }, 'token'),
      this.#ticks,
    );
    this.element.querySelector('.curve-plot')?.append(this.#svg);
    const follow = ({ clientX }: PointerEvent) => {
      const { left, width } = this.#svg.getBoundingClientRect();
      const index = Math.floor(((clientX - left) / width) * this.#room);
      point(index >= 0 && index < this.#drawn.length ? index : null);
    };
    this.#svg.addEventListener('pointermove', follow);
    this.#svg.addEventListener('pointerdown', follow);
    this.#svg.addEventListener('pointerleave', () => point(null));
  }

  /** Draws the axes of the answer, and the bars of those tokens that are new or changed. */
  update(answer: Answer, changed: readonly Token[], method: Method, full: number): void {
    this.#resize(axisRoom(answer.tokens.length, isOver(answer)));
    const { noun } = METHOD_WORDS[method];
    setText(this.#title, `${noun.charAt(0).toUpperCase()}${noun.slice(1)} by token`);
    setText(this.#top, formatScore(full));
    for (const bar of this.#drawn.splice(answer.tokens.length)) bar.remove();
    for (const [index, line] of this.#newlines) {
      if (answer.tokens[index]?.text.includes('\n')) continue;
      line.remove();
      this.#newlines.delete(index);
    }
    for (const token of changed) {
      const { index } = token;
      let bar = this.#drawn[index];
      if (!bar) {
        bar = svgElement('rect', { x: index + 0.1, width: 0.8 });
        this.#drawn.push(bar);
        this.#bars.append(bar);
      }
      if (token.text.includes('\n')) this.#drawNewline(index);
      const score = scoreOf(token, method);
      const state = scoreState(token, method);
      const height = state === 'missing' ? 8 : Math.max(LEAST_HEIGHT, strength(score ?? 0, full) * HEIGHT);
      bar.setAttribute('class', `curve-${state}`);
      bar.setAttribute('y', String(HEIGHT - height));
      bar.setAttribute('height', String(height));
    }
  }

  highlight(index: number | null): void {
    this.#cursor.setAttribute('x', String(index ?? 0));
    this.#cursor.setAttribute('visibility', index === null ? 'hidden' : 'visible');
  }

  /** Where the bar of a token is on the screen, over the whole height of the plot. */
  place(index: number): DOMRect {
    const plot = this.#svg.getBoundingClientRect();
    const width = plot.width / this.#room;
    return new DOMRect(plot.left + index * width, plot.top, width, plot.height);
  }

  #drawNewline(index: number): void {
    if (this.#newlines.has(index)) return;
    const line = svgElement('line', { x1: index + 0.5, x2: index + 0.5, y1: 0, y2: HEIGHT });
    this.#newlines.set(index, line);
    this.#lines.append(line);
  }

  #resize(room: number): void {
    if (room === this.#room) return;
    this.#room = room;
    this.#svg.setAttribute('viewBox', `0 0 ${room} ${HEIGHT}`);
    this.#ticks.replaceChildren(
      ...axisTicks(room).map((index) => {
        const tick = element('span', { class: 'tick' }, String(index));
        tick.style.setProperty('left', `${((index + 0.5) / room) * 100}%`);
        return tick;
      }),
    );
  }
}
