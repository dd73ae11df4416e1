import { byId, setText } from './dom.js';

const STORED = 'flinch.theme';
const THEMES = ['auto', 'light', 'dark'] as const;

/** Light or dark, as the system has it or as the button says; remembered. */
export function followTheme(): void {
  const button = byId('theme', HTMLButtonElement);
  const words = byId('theme-words', HTMLElement);
  let theme = THEMES.find((known) => known === localStorage.getItem(STORED)) ?? 'auto';
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    setText(words, `Colours: ${theme}`);
    button.title = `Colours: ${theme}. Click to switch between ${THEMES.join(', ')}.`;
  };
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
    localStorage.setItem(STORED, theme);
    apply();
  });
  apply();
}
