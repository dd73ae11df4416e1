import { byId } from './dom.js';

/** Keys that work wherever the focus is, but in a field that takes text. They are listed in the help. */
export function listenForShortcuts({ stop }: { readonly stop: () => void }): void {
  const help = byId('help-dialog', HTMLDialogElement);
  const showHelp = () => {
    if (!help.open) help.showModal();
  };
  byId('help', HTMLButtonElement).addEventListener('click', showHelp);
  byId('help-close', HTMLButtonElement).addEventListener('click', () => help.close());
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (key === 'Escape') stop();
    const typing = target instanceof Element && target.matches('input, textarea, select');
    if (typing) return;
    if (key === '?') showHelp();
    else if (key === '/') byId('question', HTMLTextAreaElement).focus();
    else return;
    event.preventDefault();
  });
}
