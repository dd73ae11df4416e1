import { type Answer, isOver, riskHeight } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { axisRoom, axisTicks, HEIGHT } from './axis.js';
import { Bars } from './bars.js';
import { fullScale, strength } from './colour.js';
import { element, setText, svgElement } from './dom.js';
import { methodsOf, riskOf, scoreOf, strongest } from './queries.js';
import { formatScore, METHOD_WORDS } from './words.js';

const RISK_TICKS = [0.9, 0.99, 0.999];

/**
 * The scores of all methods along the answer: bars for the one that colours the text, a line for each of the others.
 * Those whose risks are known share the scale of risks, with the threshold; each other has its own, up to its strongest
 * score.
 */
export class Curves {
  readonly element: HTMLElement;
  readonly #svg = svgElement('svg', { preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  readonly #steps = svgElement('g', { class: 'curve-steps' });
  readonly #lines = svgElement('g', { class: 'curve-lines' });
  readonly #threshold = svgElement('line', { class: 'curve-threshold', x1: 0 });
  readonly #cursor = svgElement('rect', { class: 'curve-cursor', y: 0, width: 1, height: HEIGHT });
  readonly #bars = new Bars();
  readonly #scale = element('div', { class: 'curve-scale', 'aria-hidden': 'true' });
  readonly #title = element('figcaption', { class: 'curve-title' });
  readonly #ticks = element('div', { class: 'curve-ticks', 'aria-hidden': 'true' });
  readonly #toggles = element('fieldset', { class: 'curve-toggles', 'aria-label': 'Curves' });
  readonly #hidden = new Set<Method>();
  readonly #changed: () => void;
  #room = 0;
  #count = 0;
  #legend = '';

  /** `point` hears which token the pointer is over, and null when it leaves; `changed`, that it must be drawn anew. */
  constructor(point: (index: number | null) => void, changed: () => void) {
    this.#changed = changed;
    this.#cursor.setAttribute('visibility', 'hidden');
    this.#svg.append(this.#cursor, this.#steps, this.#bars.element, this.#lines, this.#threshold);
    this.element = element(
      'figure',
      { class: 'curve' },
      this.#title,
      this.#scale,
      element('div', { class: 'curve-plot' }),
      element('span', { class: 'curve-axis', 'aria-hidden': 'true' }, 'token'),
      this.#ticks,
      this.#toggles,
    );
    this.element.querySelector('.curve-plot')?.append(this.#svg);
    const follow = ({ clientX }: PointerEvent) => {
      const { left, width } = this.#svg.getBoundingClientRect();
      const index = Math.floor(((clientX - left) / width) * this.#room);
      point(index >= 0 && index < this.#count ? index : null);
    };
    this.#svg.addEventListener('pointermove', follow);
    this.#svg.addEventListener('pointerdown', follow);
    this.#svg.addEventListener('pointerleave', () => point(null));
  }

  update(answer: Answer, chosen: Method): void {
    const { tokens, guard } = answer;
    this.#count = tokens.length;
    this.#resize(axisRoom(tokens.length, isOver(answer)));
    const methods = methodsOf(answer);
    const rated = methods.filter((method) => tokens.some((token) => riskOf(token, method) !== null));
    const byRisk = rated.length > 0;
    const heights = (method: Method): (number | null)[] => {
      const full = fullScale(method, strongest(answer, method)?.score ?? null);
      return tokens.map((token) => {
        const value = rated.includes(method) ? riskOf(token, method) : scoreOf(token, method);
        if (value === null) return null;
        return HEIGHT * (rated.includes(method) ? riskHeight(value) : strength(value, full));
      });
    };
    const shown = methods.filter((method) => method !== chosen && !this.#hidden.has(method));
    this.#bars.update(answer, chosen, heights(chosen));
    this.#lines.replaceChildren(...shown.flatMap((method) => lines(method, heights(method))));
    this.#drawSteps(byRisk ? answer : null);
    const rate = byRisk ? (guard?.rate ?? 0) : 0;
    const level = HEIGHT * (1 - riskHeight(1 - rate));
    for (const end of ['y1', 'y2']) this.#threshold.setAttribute(end, String(level));
    this.#threshold.setAttribute('visibility', rate > 0 ? 'visible' : 'hidden');
    this.#label(answer, chosen, byRisk, rate > 0 ? level : null);
    this.#drawToggles(methods, chosen, byRisk ? rated : methods);
  }

  highlight(index: number | null): void {
    this.#cursor.setAttribute('x', String(index ?? 0));
    this.#cursor.setAttribute('visibility', index === null ? 'hidden' : 'visible');
  }

  /** Rectangle of a token's bar on the screen, over the whole height of the plot. */
  place(index: number): DOMRect {
    const plot = this.#svg.getBoundingClientRect();
    const width = plot.width / this.#room;
    return new DOMRect(plot.left + index * width, plot.top, width, plot.height);
  }

  /** The risk of each settled step, over all its tokens. */
  #drawSteps(answer: Answer | null): void {
    const drawn = (answer?.steps ?? []).flatMap(({ from, to, risk, flagged }) => {
      if (risk === null) return [];
      const y = HEIGHT * (1 - riskHeight(risk));
      return [svgElement('line', { x1: from, x2: to, y1: y, y2: y, class: flagged ? 'flagged' : 'calm' })];
    });
    this.#steps.replaceChildren(...drawn);
  }

  #label(answer: Answer, chosen: Method, byRisk: boolean, threshold: number | null): void {
    setText(
      this.#title,
      byRisk ? 'Rank among ordinary tokens' : 'Scores by token, each method on its own scale',
    );
    const top = formatScore(fullScale(chosen, strongest(answer, chosen)?.score ?? null));
    const marks = byRisk
      ? RISK_TICKS.map((risk) => ({ words: `${risk * 100} %`, y: HEIGHT * (1 - riskHeight(risk)) }))
      : [{ words: top, y: 0 }];
    const all = [...marks, { words: '0', y: HEIGHT }];
    const labels = all.map(({ words, y }) => mark(words, y, 'curve-mark'));
    if (threshold !== null) labels.push(mark('flag', threshold, 'curve-mark curve-mark-flag'));
    const legend = JSON.stringify([all, threshold]);
    if (this.#legend !== legend) this.#scale.replaceChildren(...labels);
    this.#legend = legend;
  }

  /**
   * A box for each method, with its line: the legend, which also shows and hides the lines.
   * @param onAxis methods that the marks on the axis belong to
   */
  #drawToggles(methods: readonly Method[], chosen: Method, onAxis: readonly Method[]): void {
    const wanted = JSON.stringify([methods, chosen, onAxis]);
    if (this.#toggles.dataset.drawn === wanted) return;
    this.#toggles.dataset.drawn = wanted;
    this.#toggles.replaceChildren(
      ...methods.map((method) => {
        const box = element('input', { type: 'checkbox' });
        box.checked = method === chosen || !this.#hidden.has(method);
        box.disabled = method === chosen;
        box.addEventListener('change', () => {
          if (box.checked) this.#hidden.delete(method);
          else this.#hidden.add(method);
          this.#changed();
        });
        const sample = svgElement('svg', {
          viewBox: '0 0 24 8',
          class: 'curve-sample',
          'aria-hidden': 'true',
        });
        const own = { class: `line-${method}`, points: '0,4 24,4' };
        sample.append(
          method === chosen
            ? svgElement('rect', { class: 'curve-bar', x: 4, width: 16, height: 8 })
            : svgElement('polyline', own),
        );
        const { name, meaning } = METHOD_WORDS[method];
        const scale = onAxis.includes(method) ? '' : ' (own scale)';
        return element('label', { title: meaning }, box, sample, `${name}${scale}`);
      }),
    );
  }

  #resize(room: number): void {
    if (room === this.#room) return;
    this.#room = room;
    this.#svg.setAttribute('viewBox', `0 0 ${room} ${HEIGHT}`);
    this.#threshold.setAttribute('x2', String(room));
    this.#ticks.replaceChildren(
      ...axisTicks(room).map((index) => {
        const tick = element('span', { class: 'tick' }, String(index));
        tick.style.setProperty('left', `${((index + 0.5) / room) * 100}%`);
        return tick;
      }),
    );
  }
}

/** A line through the middles of the tokens, broken where there is no value. */
function lines(method: Method, heights: readonly (number | null)[]): SVGElement[] {
  const pieces: string[][] = [[]];
  heights.forEach((height, index) => {
    if (height === null) pieces.push([]);
    else pieces.at(-1)?.push(`${index + 0.5},${(HEIGHT - height).toFixed(2)}`);
  });
  return pieces
    .filter((points) => points.length > 0)
    .map((points) => svgElement('polyline', { class: `line-${method}`, points: points.join(' ') }));
}

function mark(words: string, y: number, name: string): HTMLElement {
  const label = element('span', { class: name }, words);
  label.style.setProperty('top', `${(y / HEIGHT) * 100}%`);
  return label;
}
