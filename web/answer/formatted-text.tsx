import DOMPurify from 'dompurify';
import { type Answer, answerText, isOver } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { useTokenNavigation } from 'flinch-react';
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { toHtml } from './markdown.js';
import { tokenRanges } from './token-ranges.js';

/** Allowed elements. Images and forms are not: text of a model must not make the browser send requests. */
const ALLOWED_TAGS = [
  ...[
    'p',
    'br',
    'hr',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'blockquote',
    'pre',
    'code',
    'strong',
    'em',
    'del',
  ],
  ...['span', 'ul', 'ol', 'li', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
];
const ALLOWED_ATTR = ['href', 'title', 'start', 'align', 'class'];
const ALLOWED_URI_REGEXP = /^(https?|mailto):/i;

/** How often a growing answer is laid out anew. */
const REDRAW_MS = 150;

type Katex = typeof import('katex').default;

export interface FormattedTextProps {
  readonly answer: Answer;
  readonly method: Method;
  readonly active: number | null;
  readonly onPoint: (index: number | null) => void;
  readonly describedBy: string;
}

/** The answer as Markdown with formulas, its tokens coloured and its steps underlined as in the text. */
export function FormattedText({
  answer,
  method,
  active,
  onPoint,
  describedBy,
}: FormattedTextProps): ReactNode {
  const root = useRef<HTMLDivElement>(null);
  const html = useHtml(answer, method);
  const katex = useKatex(html);
  const handlers = useTokenNavigation(root, active, onPoint);
  useLayoutEffect(() => {
    if (root.current) draw(root.current, html, katex);
  }, [html, katex]);
  useLayoutEffect(() => {
    for (const token of root.current?.querySelectorAll('[data-active]') ?? [])
      token.removeAttribute('data-active');
    for (const token of root.current?.querySelectorAll(`[data-index="${active}"]`) ?? [])
      token.setAttribute('data-active', '');
  }, [active, html, katex]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div
      ref={root}
      className="formatted"
      role="group"
      aria-label="Answer. The arrow keys move between tokens."
      aria-describedby={active === null ? undefined : describedBy}
      data-over={isOver(answer)}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move between its tokens
      tabIndex={0}
      {...handlers}
    />
  );
}

/** The HTML of an answer, made anew at most every {@link REDRAW_MS} while it grows. */
function useHtml(answer: Answer, method: Method): string {
  const make = () => toHtml(answerText(answer), tokenRanges(answer, method));
  const latest = useRef(make);
  latest.current = make;
  const [html, setHtml] = useState(make);
  const timer = useRef(0);
  useEffect(() => {
    if (isOver(answer)) setHtml(make());
    else if (timer.current === 0) {
      timer.current = window.setTimeout(() => {
        timer.current = 0;
        setHtml(latest.current());
      }, REDRAW_MS);
    }
  }, [answer, method]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return html;
}

/** Draws formulas; loaded once there is one. */
function useKatex(html: string): Katex | null {
  const [katex, setKatex] = useState<Katex | null>(null);
  const wanted = html.includes('data-tex=');
  useEffect(() => {
    if (!wanted) return;
    const style = document.createElement('link');
    Object.assign(style, { rel: 'stylesheet', href: './formulas.css' });
    if (!document.querySelector('link[href="./formulas.css"]')) document.head.append(style);
    void import('katex').then((loaded) => setKatex(() => loaded.default));
  }, [wanted]);
  return katex;
}

function draw(root: HTMLElement, html: string, katex: Katex | null): void {
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOWED_URI_REGEXP,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
  }
  if (katex) {
    for (const formula of fragment.querySelectorAll<HTMLElement>('[data-tex]')) drawFormula(formula, katex);
  }
  for (const token of fragment.querySelectorAll<HTMLElement>('[data-strength]')) {
    token.style.setProperty('--flinch-strength', token.dataset.strength ?? '0');
  }
  root.replaceChildren(fragment);
}

/** Draws a formula in the colour of its riskiest token; one that is broken stays text. */
function drawFormula(formula: HTMLElement, katex: Katex): void {
  const { tex = '', display } = formula.dataset;
  const tokens = [...formula.querySelectorAll<HTMLElement>('[data-strength]')];
  const riskiest = tokens.toSorted((a, b) => Number(b.dataset.strength) - Number(a.dataset.strength))[0];
  const drawn = document.createElement('span');
  try {
    katex.render(tex, drawn, { displayMode: display !== undefined, throwOnError: true, maxExpand: 100 });
  } catch (error) {
    if (error instanceof katex.ParseError || error instanceof RangeError) return;
    throw error;
  }
  for (const { name, value } of riskiest?.attributes ?? []) formula.setAttribute(name, value);
  if (tokens.some(({ dataset }) => dataset.level === 'flagged')) formula.dataset.level = 'flagged';
  formula.replaceChildren(...drawn.childNodes);
}
