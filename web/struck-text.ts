import type { Answer } from 'flinch-client';
import { element, setText } from './dom.js';

/**
 * Text that the guard struck out, shown at its old place: right before the text that replaced it. It is hidden from
 * screen readers, which read the final answer; the list of rollbacks below it says the same.
 */
export class Strikes {
  readonly #text: HTMLElement;
  readonly #struck = new Map<number, HTMLElement>();

  constructor(text: HTMLElement) {
    this.#text = text;
  }

  /** @param spans spans of the tokens, by index */
  update({ rollbacks, tokens }: Answer, spans: readonly HTMLElement[]): void {
    for (const [rollback, gone] of this.#struck) {
      if (rollbacks.some((each) => each.rollback === rollback && each.outcome === 'replaced')) continue;
      gone.remove();
      this.#struck.delete(rollback);
    }
    for (const { rollback, outcome, struck, from } of rollbacks) {
      if (outcome !== 'replaced' || from > tokens.length) continue;
      let shown = this.#struck.get(rollback);
      if (!shown) {
        shown = element('del', { class: 'struck', 'aria-hidden': 'true' });
        this.#struck.set(rollback, shown);
      }
      // A line break that was struck out must not separate text on one line.
      setText(shown, struck.trim());
      const next = spans[from] ?? null;
      if (shown.parentElement !== this.#text || shown.nextElementSibling !== next) {
        this.#text.insertBefore(shown, next);
      }
    }
  }
}
