import { Marked, type TokenizerAndRendererExtension } from 'marked';

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
 * half of an emphasis, or two paragraphs. Tags in an answer are shown as they were written: `List<int>` is no HTML, and
 * `<think>` is to be seen. A formula is a `span` with `data-tex`, its source as text.
 * @param ranges in order, without overlap
 */
export function toHtml(source: string, ranges: readonly TextRange[]): string {
  try {
    return fromMarkdown(source, ranges);
  } catch (error) {
    // Two thousand quotes within each other are more than a parser bears.
    if (!(error instanceof RangeError)) throw error;
    return verbatimHtml(source, ranges);
  }
}

/** A text as it was written. @param part what it is a part of, if not of the answer */
export function verbatimHtml(source: string, ranges: readonly TextRange[], part?: string): string {
  const of = part === undefined ? '' : ` data-part="${escaped(part)}"`;
  return `<p class="verbatim"${of}>${new Marks(source, ranges).mark(source, escaped)}</p>`;
}

/** Text that was struck out; screen readers read the final answer. */
export const struckHtml = (text: string): string =>
  `<del class="flinch-struck" aria-hidden="true">${escaped(text)}</del>`;

function fromMarkdown(source: string, ranges: readonly TextRange[]): string {
  const marks = new Marks(source, ranges);
  const lines = (text: string): string =>
    text
      .split('\n')
      .map((line) => marks.mark(line, escaped))
      .join('\n');
  const formula = (level: 'block' | 'inline'): TokenizerAndRendererExtension => ({
    name: `${level}Formula`,
    level,
    start: (text) => startOf(text, level),
    tokenizer: (text) => formulaAt(text, level),
    renderer: ({ raw, tex, display }) => {
      const drawn = `<span data-tex="${escaped(String(tex))}"${display ? ' data-display' : ''}>${lines(raw)}</span>`;
      return level === 'block' ? `<p>${drawn}</p>\n` : drawn;
    },
  });
  const markdown = new Marked({
    gfm: true,
    breaks: true,
    renderer: {
      text(token) {
        if ('tokens' in token && token.tokens) return this.parser.parseInline(token.tokens);
        return marks.mark(token.text, escapedText);
      },
      codespan: ({ text }) => `<code>${marks.mark(text, escaped)}</code>`,
      code: ({ text }) => `<pre><code>${lines(text)}\n</code></pre>\n`,
      html: ({ text }) => lines(text),
      image: ({ text, href }) => marks.mark(text || href, escaped),
    },
  });
  markdown.use({ extensions: [formula('block'), formula('inline')] });
  return markdown.parse(source, { async: false });
}

/** Formulas as models write them. A dollar with a space inside or a digit after it is money. */
const DISPLAY = [/^\\\[(.+?)\\\]/s, /^\$\$(.+?)\$\$/s];
const INLINE = [/^\\\((.+?)\\\)/s, /^\$(?![\s$])([^$\n]*[^\s$\\])\$(?!\d)/];

function formulaAt(text: string, level: 'block' | 'inline') {
  for (const [patterns, display] of [
    [DISPLAY, true],
    [level === 'inline' ? INLINE : [], false],
  ] as const) {
    for (const pattern of patterns) {
      const found = pattern.exec(text);
      // A block is alone on its lines.
      if (!found || (level === 'block' && !/^[ \t]*(\n|$)/.test(text.slice(found[0].length)))) continue;
      return { type: `${level}Formula`, raw: found[0], tex: found[1]?.trim(), display };
    }
  }
  return undefined;
}

function startOf(text: string, level: 'block' | 'inline'): number | undefined {
  const at = text.search(level === 'block' ? /^(?:\\\[|\$\$)/m : /\\[[(]|\$/);
  return at < 0 ? undefined : at;
}

/** Puts ranges around pieces of text, which come in the order of the source, and are in it as they are. */
class Marks {
  readonly #source: string;
  readonly #ranges: readonly TextRange[];
  readonly #begun = new Set<TextRange>();
  /** How far the source is written, and the first range that is not behind it. */
  #at = 0;
  #next = 0;

  constructor(source: string, ranges: readonly TextRange[]) {
    this.#source = source;
    this.#ranges = ranges;
  }

  mark(raw: string, write: (text: string) => string): string {
    const start = this.#source.indexOf(raw, this.#at);
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

  /** White space is not worth an element, unless something is to be seen at it. */
  #isIdle(range: TextRange, text: string): boolean {
    if (text.trim() !== '') return false;
    const { struck = [], attributes } = range;
    return this.#begun.has(range) || (struck.length === 0 && attributes['data-first'] === undefined);
  }

  #open(range: TextRange): string {
    const { attributes, struck = [] } = range;
    const first = !this.#begun.has(range);
    this.#begun.add(range);
    const gone = first ? struck.map(struckHtml).join('') : '';
    const written = Object.entries(attributes)
      .filter(([name]) => first || name !== 'data-first')
      .map(([name, value]) => ` ${name}="${escaped(value)}"`);
    return `${gone}<span${written.join('')}>`;
  }
}
