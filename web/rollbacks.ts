import type { Answer, Rollback } from 'flinch-client';
import { element } from './dom.js';
import { countTokens, formatScore } from './words.js';

/** Corrections of the guard: each flagged step with the candidates for its place. */
export class Rollbacks {
  readonly element = element('details', { class: 'rollbacks', open: '', hidden: '' });
  readonly #summary = element('summary');
  readonly #list = element('ol');
  #drawn: readonly Rollback[] = [];

  constructor() {
    this.element.append(this.#summary, this.#list);
  }

  update({ rollbacks }: Answer): void {
    if (rollbacks === this.#drawn) return;
    this.#drawn = rollbacks;
    this.element.hidden = rollbacks.length === 0;
    const replaced = rollbacks.filter(({ outcome }) => outcome === 'replaced').length;
    this.#summary.textContent = `Rollbacks: ${rollbacks.length}, ${replaced} replaced`;
    this.#list.replaceChildren(...rollbacks.map(item));
  }
}

function item({ step, drawn, outcome, chosen, candidates }: Rollback): HTMLElement {
  if (outcome === null) {
    return element('li', {}, `Step ${step + 1}: sampling ${drawn} other continuations…`);
  }
  const said = outcome === 'replaced' ? 'replaced' : 'kept';
  const rows = candidates.map(({ text, tokens, score }, index) => {
    const taken = index === chosen;
    const shown = index === 0 && outcome === 'replaced' ? element('del', {}, text.trim()) : text.trim();
    const line = element(
      'tr',
      {},
      element('td', { class: 'candidate-mark' }, taken ? '✓' : ''),
      element('td', { class: 'candidate-text' }, shown, note(index, taken)),
      element('td', {}, countTokens(tokens)),
      element('td', {}, score === null ? 'no score' : formatScore(score)),
    );
    line.classList.toggle('candidate-chosen', taken);
    return line;
  });
  const head = element(
    'tr',
    {},
    ...['', 'Candidate', 'Length', 'Mean score'].map((name) => element('th', { scope: 'col' }, name)),
  );
  return element(
    'li',
    {},
    element('p', {}, `Step ${step + 1}, ${said}`),
    element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)),
  );
}

/** Nothing may be said by the mark or the line through the text alone. */
function note(index: number, taken: boolean): HTMLElement {
  const words = [...(index === 0 ? ['as it was'] : []), ...(taken ? ['chosen'] : [])];
  return element('span', { class: 'candidate-note' }, words.join(', '));
}
