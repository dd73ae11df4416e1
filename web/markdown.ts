import { Marked } from 'marked';

/** A piece of the answer's text that is to be marked; `title` says why. */
export interface MarkedRange {
  /** Position in characters; `to` is excluded. */
  readonly from: number;
  readonly to: number;
  readonly title: string;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => ENTITIES[sign] ?? sign);

/** Entities stay as they are, as Markdown requires. */
const escapedText = (text: string): string =>
  text.replace(/&(?!#\d{1,7};|#[Xx][a-fA-F0-9]{1,6};|\w+;)|[<>"]/g, (sign) => ENTITIES[sign] ?? sign);

/**
 * The answer as HTML, with ranges in `mark` elements. Marks are put around pieces of text, never around Markdown: a
 * range may hold half of an emphasis, or two paragraphs. Tags in an answer are shown as they were written: `List<int>`
 * is no HTML, and `<think>` is to be seen.
 */
export function toHtml(source: string, ranges: readonly MarkedRange[]): string {
  // Pieces of text come in the order of the source, and each is in it as it is.
  let at = 0;
  const begun = new Set<MarkedRange>();

  const mark = (raw: string, write: (text: string) => string): string => {
    const start = source.indexOf(raw, at);
    if (start < 0) return write(raw);
    at = start + raw.length;
    let html = '';
    let done = start;
    for (const range of ranges) {
      const [from, to] = [Math.max(range.from, done), Math.min(range.to, at)];
      if (to <= from || raw.slice(from - start, to - start).trim() === '') continue;
      const first = begun.has(range) ? '' : ' data-first';
      begun.add(range);
      html += write(raw.slice(done - start, from - start));
      html += `<mark data-level="flagged"${first} title="${escaped(range.title)}">`;
      html += `${write(raw.slice(from - start, to - start))}</mark>`;
      done = to;
    }
    return html + write(raw.slice(done - start));
  };
  const lines = (text: string): string =>
    text
      .split('\n')
      .map((line) => mark(line, escaped))
      .join('\n');

  const markdown = new Marked({
    gfm: true,
    breaks: true,
    renderer: {
      text(token) {
        if ('tokens' in token && token.tokens) return this.parser.parseInline(token.tokens);
        return mark(token.text, escapedText);
      },
      codespan: ({ text }) => `<code>${mark(text, escaped)}</code>`,
      code: ({ text }) => `<pre><code>${lines(text)}\n</code></pre>\n`,
      html: ({ text }) => lines(text),
      image: ({ text, href }) => mark(text || href, escaped),
    },
  });
  return markdown.parse(source, { async: false });
}
