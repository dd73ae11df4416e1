import DOMPurify from 'dompurify';
import { isOver, isWritten, type Token } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { useTokenNavigation } from 'flinch-react';
import { type ReactNode, useLayoutEffect, useMemo, useRef } from 'react';
import { createRoot } from 'react-dom/client';
import type { Exchange } from '../chats/session.js';
import { answerHtml } from './answer-html.js';
import { CopyButton } from './copy-button.js';
import { drawFormula, type Katex, useKatex } from './formulas.js';
import { useThrottled } from './use-throttled.js';

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
  ...['details', 'summary', 'div'],
];
const ALLOWED_ATTR = ['href', 'title', 'start', 'align', 'class', 'aria-hidden'];
/** DOMPurify would look for addresses in them, and find none. */
const NO_URIS = ['align', 'start'];
const ALLOWED_URI_REGEXP = /^(https?|mailto):/i;

/** Minimum time between two layouts of a growing answer, also as a multiple of what one takes. */
const REDRAW_MS = 150;
const REDRAW_SHARE = 8;

export interface FormattedTextProps {
  readonly exchange: Exchange;
  readonly method: Method;
  readonly active: number | null;
  readonly onPoint: (index: number | null) => void;
  readonly labelOf: (token: Token) => string;
}

/** The answer as Markdown with formulas, its tokens coloured and its steps underlined as in the text. */
export function FormattedText({ exchange, method, active, onPoint, labelOf }: FormattedTextProps): ReactNode {
  const { answer } = exchange;
  const root = useRef<HTMLDivElement>(null);
  const cost = useRef(0);
  const shown = useThrottled(exchange, isOver(answer) ? 0 : Math.max(REDRAW_MS, REDRAW_SHARE * cost.current));
  const [html, readMs] = useMemo(() => {
    const start = performance.now();
    return [answerHtml(shown.answer, method, shown.events), performance.now() - start];
  }, [shown, method]);
  const over = isWritten(shown.answer);
  const katex = useKatex(html.includes('data-tex='));
  const handlers = useTokenNavigation(root, active, onPoint);
  useLayoutEffect(() => {
    const start = performance.now();
    root.current?.querySelector('.cursor')?.remove();
    if (root.current) draw(root.current, html, katex);
    if (root.current && !over) placeCursor(root.current);
    cost.current = readMs + performance.now() - start;
  }, [html, readMs, katex, over]);
  useLayoutEffect(() => {
    const { current } = root;
    for (const token of current?.querySelectorAll('[data-active]') ?? [])
      token.removeAttribute('data-active');
    if (current && active !== null)
      for (const token of elementsOf(current, active)) token.setAttribute('data-active', '');
  }, [active, html, katex]);
  const token = active === null ? undefined : answer.tokens[active];
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
      <div
        ref={root}
        className="formatted"
        role="group"
        aria-label="Answer. The arrow keys move between tokens."
        data-over={isWritten(answer)}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move between its tokens
        tabIndex={0}
        {...handlers}
        onKeyDown={(event) => {
          // Wide tables and code scroll by the same keys.
          if (event.target === root.current) handlers.onKeyDown(event);
        }}
      />
      <span className="visually-hidden" aria-live="polite">
        {token && document.activeElement === root.current ? labelOf(token) : ''}
      </span>
    </>
  );
}

/** The elements of a token; a formula is one of all its tokens, and a summary of all that are folded away. */
export function elementsOf(root: Element, index: number): readonly Element[] {
  const own = [...root.querySelectorAll(`[data-index="${index}"]`)];
  const summary = own[0]?.closest('details:not([open])')?.querySelector('summary');
  if (summary) return [summary];
  if (own.length > 0) return own;
  return [...root.querySelectorAll<HTMLElement>('[data-tokens]')].filter(({ dataset }) =>
    dataset.tokens?.split(' ').includes(String(index)),
  );
}

/** What each block was drawn from: an unchanged one stays, with its formulas and what is selected in it. */
const drawnFrom = new WeakMap<Element, string>();

function draw(root: HTMLElement, html: string, katex: Katex | null): void {
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOWED_URI_REGEXP,
    ADD_URI_SAFE_ATTR: NO_URIS,
    RETURN_DOM_FRAGMENT: true,
  });
  update(root, [...fragment.children], katex);
}

function update(root: Element, blocks: readonly Element[], katex: Katex | null): void {
  for (const [at, block] of blocks.entries()) {
    const source = `${katex !== null} ${block.outerHTML}`;
    const old = root.children[at];
    if (old && drawnFrom.get(old) === source) continue;
    const isFold = block.tagName === 'DETAILS';
    const drawn = isFold && old?.tagName === 'DETAILS' ? old : block; // It stays open.
    if (isFold) update(drawn, [...block.children], katex);
    else decorate(block, katex);
    drawnFrom.set(drawn, source);
    if (!old) root.append(drawn);
    else if (old !== drawn) old.replaceWith(drawn);
  }
  for (const old of [...root.children].slice(blocks.length)) old.remove();
}

/** What may hold the end of a text. */
const HOLDERS = [
  ...['p', 'ul', 'ol', 'li', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'details'],
  ...['.code', 'pre', 'pre > code', '.scroll', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
].join();

/** Marks the place of the next token, in the line that it will be in. */
function placeCursor(root: Element): void {
  let end: Element = root;
  for (let last = root.lastElementChild; last?.matches(HOLDERS); last = end.lastElementChild) {
    end = (last.matches('details:not([open])') && last.querySelector('summary')) || last;
  }
  const cursor = document.createElement('span');
  cursor.className = 'cursor';
  end.append(cursor);
}

/** Adds what cannot be written into HTML. */
function decorate(block: Element, katex: Katex | null): void {
  block.setAttribute('dir', 'auto');
  for (const each of [block, ...block.querySelectorAll<HTMLElement>('.scroll, .code > pre')]) {
    if (!(each instanceof HTMLElement) || !each.matches('.scroll, pre')) continue;
    each.tabIndex = 0;
    if (each.tagName !== 'PRE') continue;
    const button = document.createElement('span');
    createRoot(button).render(<CopyButton text={() => writtenIn(each)} />);
    each.before(button);
  }
  for (const link of block.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
  }
  if (katex) {
    for (const formula of block.querySelectorAll<HTMLElement>('[data-tex]')) drawFormula(formula, katex);
  }
  for (const token of block.querySelectorAll<HTMLElement>('[data-strength]')) {
    token.style.setProperty('--flinch-strength', token.dataset.strength ?? '0');
  }
}

/** A text without what was struck out of it. */
function writtenIn(element: Element): string {
  const copy = element.cloneNode(true);
  if (!(copy instanceof Element)) return '';
  for (const struck of copy.querySelectorAll('del.flinch-struck')) struck.remove();
  return copy.textContent;
}
