import { byId, setText } from './dom.js';

const STORED = 'flinch.api-key';

/** The key that the server asks for. It is kept as long as the tab is, and goes nowhere but to this server. */
export class ApiKey {
  readonly #dialog = byId('key-dialog', HTMLDialogElement);
  readonly #input = byId('key', HTMLInputElement);

  /** @param entered hears that there is a new one */
  constructor(entered: () => void) {
    byId('key-form', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      const key = this.#input.value.trim();
      if (key === '') return;
      sessionStorage.setItem(STORED, key);
      this.#input.value = '';
      this.#dialog.close();
      entered();
    });
    byId('key-cancel', HTMLButtonElement).addEventListener('click', () => this.#dialog.close());
  }

  get value(): string | null {
    return sessionStorage.getItem(STORED);
  }

  /** Asks for another; one that was refused is forgotten. */
  ask(): void {
    const refused = this.value !== null;
    sessionStorage.removeItem(STORED);
    setText(
      byId('key-words', HTMLElement),
      refused ? 'The server does not accept this key.' : 'This server asks for an API key.',
    );
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#input.focus();
  }
}
