import { useEffect, useState } from 'react';

export type Katex = typeof import('katex').default;

const STYLE = './formulas.css';

/** What draws formulas, loaded once it is wanted. */
export function useKatex(wanted: boolean): Katex | null {
  const [katex, setKatex] = useState<Katex | null>(null);
  useEffect(() => {
    if (!wanted) return;
    if (!document.querySelector(`link[href="${STYLE}"]`)) {
      const style = document.createElement('link');
      Object.assign(style, { rel: 'stylesheet', href: STYLE });
      document.head.append(style);
    }
    void import('katex').then((loaded) => setKatex(() => loaded.default));
  }, [wanted]);
  return katex;
}

/** Elements within each other: some hundred fractions within each other end the browser's process. */
const DEEPEST = 250;

function isTooDeep(element: Element): boolean {
  let level = [element];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) return true;
    level = level.flatMap(({ children }) => [...children]);
  }
  return false;
}

/** Draws a formula in the colour of its riskiest token; one that is broken stays text. */
export function drawFormula(formula: HTMLElement, katex: Katex): void {
  const { tex = '', display } = formula.dataset;
  const tokens = [...formula.querySelectorAll<HTMLElement>('[data-strength]')];
  const riskiest = tokens.toSorted((a, b) => Number(b.dataset.strength) - Number(a.dataset.strength))[0];
  const drawn = document.createElement('span');
  try {
    // Its limits: text of a model must not cover the page.
    katex.render(tex, drawn, { displayMode: display !== undefined, maxExpand: 100, maxSize: 20 });
  } catch (error) {
    if (error instanceof katex.ParseError || error instanceof RangeError) return;
    throw error;
  }
  if (isTooDeep(drawn)) return;
  for (const { name, value } of riskiest?.attributes ?? []) formula.setAttribute(name, value);
  if (tokens.some(({ dataset }) => dataset.level === 'flagged')) formula.dataset.level = 'flagged';
  formula.dataset.tokens = tokens.map(({ dataset }) => dataset.index).join(' ');
  formula.replaceChildren(...drawn.childNodes);
}
