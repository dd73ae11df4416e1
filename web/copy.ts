import { element } from './dom.js';

/** How long the button says so. */
const SAID_MS = 2000;

/** A button that copies the text as it is then. */
export function copyButton(text: () => string): HTMLButtonElement {
  const button = element('button', { type: 'button', class: 'quiet', 'aria-live': 'polite' }, 'Copy');
  button.title = 'Copy the text of this answer.';
  button.addEventListener('click', async () => {
    button.textContent = (await copied(text())) ? 'Copied' : 'Not copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, SAID_MS);
  });
  return button;
}

async function copied(text: string): Promise<boolean> {
  // Browsers have no clipboard for pages that come over plain HTTP from another machine.
  if (!navigator.clipboard) return copiedBySelection(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}

function copiedBySelection(text: string): boolean {
  const area = element('textarea', { class: 'visually-hidden' });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
