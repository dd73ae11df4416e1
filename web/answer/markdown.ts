import { Marked, Renderer, type TokenizerAndRendererExtension } from 'marked';
import { BoundedLexer, Cells, MOST_MARKDOWN } from './bounded-markdown.js';

/** A piece of the answer's text that gets an element of its own. */
export interface TextRange {
  /** Position in characters; `to` is excluded. */
  readonly from: number;
  readonly to: number;
  /** Attributes of its elements; `data-first` is that of the first alone. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Texts that were struck out right before it. */
  readonly struck?: readonly string[];
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => ENTITIES[sign] ?? sign);

/** Entities stay as they are, as Markdown requires. */
const escapedText = (text: string): string =>
  text.replace(/&(?!#\d{1,7};|#[Xx][a-fA-F0-9]{1,6};|\w+;)|[<>"]/g, (sign) => ENTITIES[sign] ?? sign);

/**
 * The answer as HTML, each range in `span` elements: around pieces of text, never around Markdown, as a range may hold
 * half of an emphasis, or two paragraphs. Tags in an answer are shown as they were written, in text that is Markdown as
 * any other: `List<int>` is no HTML. A formula is a `span` with `data-tex`, its source as text; a long one is text alone, and so is what
 * is too long or too deep for a parser on the thread that draws the page.
 * @param ranges in order, without overlap
 * @param growing whether the text goes on: a formula that it ends in is text as it was written, and no Markdown
 */
export function toHtml(source: string, ranges: readonly TextRange[], growing = false): string {
  return source.length > MOST_MARKDOWN ? verbatimHtml(source, ranges) : fromMarkdown(source, ranges, growing);
}

/** A text as it was written. @param part what it is a part of, if not of the answer */
export function verbatimHtml(source: string, ranges: readonly TextRange[], part?: string): string {
  const of = part === undefined ? '' : ` data-part="${escaped(part)}"`;
  return `<p class="verbatim"${of}>${new Marks(source, ranges).mark(source, escaped)}</p>`;
}

/** Thoughts, folded. @param html of them */
export const thoughtsHtml = (words: string, html: string): string =>
  `<details data-part="reasoning"><summary>${escaped(words)}</summary>${html}</details>`;

/** Text that was struck out; screen readers read the final answer. */
export const struckHtml = (text: string): string =>
  `<del class="flinch-struck" aria-hidden="true">${escaped(text)}</del>`;

function fromMarkdown(source: string, ranges: readonly TextRange[], growing: boolean): string {
  const marks = new Marks(source, ranges);
  const lines = (text: string): string =>
    text
      .split('\n')
      .map((line) => marks.mark(line, escaped))
      .join('\n');
  const cells = new Cells();
  let left = MOST_TEX;
  const isDrawn = (tex: string): boolean => {
    if (left < 0) return false;
    left -= tex.length + FORMULA;
    return true;
  };
  const formula = (level: 'block' | 'inline'): TokenizerAndRendererExtension => ({
    name: `${level}Formula`,
    level,
    start: (text) => startOf(text, level, growing),
    tokenizer: (text) => formulaAt(text, level, growing),
    renderer: ({ raw, tex, display }) => {
      const drawn =
        tex !== null && isDrawn(String(tex))
          ? `<span data-tex="${escaped(String(tex))}"${display ? ' data-display' : ''}>${lines(raw)}</span>`
          : lines(raw);
      return level === 'block' ? `<p${tex === null ? ' class="verbatim"' : ''}>${drawn}</p>\n` : drawn;
    },
  });
  const markdown = new Marked({
    gfm: true,
    breaks: true,
    tokenizer: {
      table: (text) => (cells.exceeded(text) ? undefined : false),
      // No block is HTML.
      html: () => undefined,
    },
    hooks: { provideLexer: () => BoundedLexer.of },
    renderer: {
      text(token) {
        if ('tokens' in token && token.tokens) return this.parser.parseInline(token.tokens);
        return marks.mark(token.text, escapedText);
      },
      codespan: ({ text }) => `<code>${marks.mark(text, escaped)}</code>`,
      code: ({ text, lang = '' }) =>
        `<div class="code" data-language="${LANGUAGE.exec(lang)?.[0] ?? ''}"><pre><code>${lines(text)}</code></pre></div>\n`,
      checkbox: ({ checked }) => `<span class="task">${checked ? '☑' : '☐'}</span> `,
      table(token) {
        return `<div class="scroll">${Renderer.prototype.table.call(this, token)}</div>\n`;
      },
      html: ({ text }) => lines(text),
      image: ({ text, href }) => marks.mark(text || href, escaped),
    },
  });
  markdown.use({ extensions: [formula('block'), formula('inline')] });
  return markdown.parse(source, { async: false });
}

/** The name of a block's language. */
const LANGUAGE = /^[\w+#.-]{1,30}/;

/** Maximum characters of a formula; a longer one is text. */
const LONGEST_TEX = 3000;
/** The same of all that are drawn of an answer; each counts as some more. */
const MOST_TEX = 10_000;
const FORMULA = 10;

/** Formulas as models write them. */
const SIGNS = [
  ['\\[', '\\]', true],
  ['$$', '$$', true],
  ['\\(', '\\)', false],
] as const;
/** A dollar with a space inside or a digit after it is money. */
const DOLLARS = /^\$(?![\s$])([^$\n]*[^\s$\\])\$(?!\d)/;

function formulaAt(rest: string, level: 'block' | 'inline', growing: boolean) {
  const text = rest.slice(0, LONGEST_TEX);
  const found = (raw: string, tex: string | null, display: boolean) => ({
    type: `${level}Formula`,
    raw,
    tex: tex?.trim() ?? null,
    display,
  });
  for (const [open, close, display] of SIGNS) {
    if (!text.startsWith(open) || (level === 'block' && !display)) continue;
    const end = text.indexOf(close, open.length + 1);
    if (end < 0 && growing && text === rest) return found(rest, null, display);
    if (end < 0) continue;
    const raw = text.slice(0, end + close.length);
    // A block is alone on its lines.
    if (level === 'block' && !/^[ \t]*(?:\n|$)/.test(text.slice(raw.length))) continue;
    return found(raw, text.slice(open.length, end), display);
  }
  const [raw, tex = ''] = (level === 'inline' && DOLLARS.exec(text)) || [];
  return raw === undefined ? undefined : found(raw, tex, false);
}

/** Where a formula may begin that would end the paragraph, or the text: no further on than these may go. */
function startOf(text: string, level: 'block' | 'inline', growing: boolean): number | undefined {
  if (level === 'inline') return at(text.search(/[\\$<![`*_~]/));
  const end = text.indexOf('\n\n');
  for (const { index } of (end < 0 ? text : text.slice(0, end)).matchAll(/\n(?=\\\[|\$\$)/g))
    if (formulaAt(text.slice(index + 1), 'block', growing)) return index + 1;
  return undefined;
}

const at = (index: number): number | undefined => (index < 0 ? undefined : index);

/** Texts that are looked for in all of the source though they are not in it; after that they must be near. */
const MOST_MISSES = 100;
const NEAR = 1000;

/** Puts ranges around pieces of text, which come in the order of the source, and are in it as they are. */
class Marks {
  readonly #source: string;
  readonly #ranges: readonly TextRange[];
  readonly #started = new Set<TextRange>();
  /** How far the source is written, and the first range that is not behind it. */
  #at = 0;
  #next = 0;
  #misses = 0;

  constructor(source: string, ranges: readonly TextRange[]) {
    this.#source = source;
    this.#ranges = ranges;
  }

  mark(raw: string, write: (text: string) => string): string {
    const start = this.#find(raw);
    if (start < 0) return write(raw);
    this.#at = start + raw.length;
    let html = '';
    let done = start;
    for (let i = this.#next; i < this.#ranges.length; i++) {
      const range = this.#ranges[i]!;
      if (range.to <= start) this.#next = i + 1;
      if (range.from >= this.#at) break;
      const [from, to] = [Math.max(range.from, done), Math.min(range.to, this.#at)];
      if (to <= from || this.#isIdle(range, raw.slice(from - start, to - start))) continue;
      html += write(raw.slice(done - start, from - start));
      html += `${this.#open(range)}${write(raw.slice(from - start, to - start))}</span>`;
      done = to;
    }
    return html + write(raw.slice(done - start));
  }

  /** A text that Markdown has changed is not in the source, and looking for each such one to its end would take too long. */
  #find(raw: string): number {
    const until = this.#misses < MOST_MISSES ? undefined : this.#at + raw.length + NEAR;
    const start = this.#source.slice(this.#at, until).indexOf(raw);
    if (start < 0) this.#misses += 1;
    return start < 0 ? -1 : this.#at + start;
  }

  /** White space is not worth an element, unless something is to be seen at it. */
  #isIdle(range: TextRange, text: string): boolean {
    if (text.trim() !== '') return false;
    const { struck = [], attributes } = range;
    return this.#started.has(range) || (struck.length === 0 && attributes['data-first'] === undefined);
  }

  #open(range: TextRange): string {
    const { attributes, struck = [] } = range;
    const first = !this.#started.has(range);
    this.#started.add(range);
    const gone = first ? struck.map(struckHtml).join('') : '';
    const written = Object.entries(attributes)
      .filter(([name]) => first || name !== 'data-first')
      .map(([name, value]) => ` ${name}="${escaped(value)}"`);
    return `${gone}<span${written.join('')}>`;
  }
}
