import type { Answer, Token } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { HEIGHT } from './axis.js';
import { svgElement } from './dom.js';
import { scoreState } from './queries.js';

/** Minimum height of a bar, so that a token that scored 0 differs from one that was never scored. */
const LEAST_HEIGHT = 1.5;
const MISSING_HEIGHT = 8;

/** A bar for each token, and a line where the answer begins a new one. */
export class Bars {
  readonly element = svgElement('g');
  readonly #newlines = svgElement('g', { class: 'curve-newlines' });
  readonly #bars: SVGRectElement[] = [];
  #lines = '';

  constructor() {
    this.element.append(this.#newlines);
  }

  /** @param heights heights of the bars; `null` where there is no value */
  update({ tokens }: Answer, method: Method, heights: readonly (number | null)[]): void {
    for (const bar of this.#bars.splice(tokens.length)) bar.remove();
    this.#drawNewlines(tokens);
    for (const token of tokens) {
      const { index } = token;
      const bar = this.#bars[index] ?? this.#add(index);
      const state = scoreState(token, method);
      const height =
        state === 'missing' ? MISSING_HEIGHT : Math.max(LEAST_HEIGHT, heights[index] ?? LEAST_HEIGHT);
      const shown = `${state} ${height.toFixed(2)}`;
      if (bar.dataset.shown === shown) continue;
      bar.dataset.shown = shown;
      bar.setAttribute('class', `curve-${state}`);
      bar.setAttribute('y', String(HEIGHT - height));
      bar.setAttribute('height', String(height));
    }
  }

  #add(index: number): SVGRectElement {
    const bar = svgElement('rect', { x: index + 0.1, width: 0.8 });
    this.#bars.push(bar);
    this.element.append(bar);
    return bar;
  }

  #drawNewlines(tokens: readonly Token[]): void {
    const ends = tokens.flatMap(({ index, text }) => (text.includes('\n') ? [index] : []));
    if (ends.join() === this.#lines) return;
    this.#lines = ends.join();
    this.#newlines.replaceChildren(
      ...ends.map((index) => svgElement('line', { x1: index + 1, x2: index + 1, y1: 0, y2: HEIGHT })),
    );
  }
}
