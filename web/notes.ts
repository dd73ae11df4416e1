import type { Answer } from 'flinch-client';
import { element, setText } from './dom.js';
import { formatScore, sentence } from './words.js';

/** Warnings that restrict the trust in the scores of an answer. */
export class Notes {
  readonly element = element('div', { class: 'notes', hidden: '' });
  readonly #mismatch = element('p', { class: 'failure mismatch', role: 'alert', hidden: '' });
  readonly #only = element('p', { hidden: '' });
  readonly #details = element('details', { hidden: '' });
  readonly #summary = element('summary');
  readonly #list = element('ul');
  #drawn: readonly string[] = [];

  constructor() {
    this.#details.append(this.#summary, this.#list);
    this.element.append(this.#mismatch, this.#only, this.#details);
  }

  update({ guard, mismatch }: Answer): void {
    const notes = guard?.warnings ?? [];
    this.element.hidden = notes.length === 0 && mismatch === null;
    this.#mismatch.hidden = mismatch === null;
    setText(this.#mismatch, mismatch ? mismatchWords(mismatch) : '');
    if (notes === this.#drawn) return;
    this.#drawn = notes;
    this.#only.hidden = notes.length !== 1;
    setText(this.#only, sentence(notes[0] ?? ''));
    this.#details.hidden = notes.length < 2;
    setText(this.#summary, `${notes.length} notes about these scores`);
    this.#list.replaceChildren(...notes.map((note) => element('li', {}, note)));
  }
}

function mismatchWords({ tokens, difference, tolerance }: NonNullable<Answer['mismatch']>): string {
  const by = `${formatScore(difference)} nats over ${tokens} tokens, tolerance ${formatScore(tolerance)}`;
  return `The scorer disagrees with the model that writes (${by}). They are probably different models, and these scores are not reliable.`;
}
