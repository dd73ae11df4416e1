import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { element } from './dom.js';

/** No images or forms: what a model writes must not make the browser ask any server for anything. */
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
  ...['ul', 'ol', 'li', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
];
const ALLOWED_ATTR = ['href', 'title', 'start', 'align'];
const ALLOWED_URI_REGEXP = /^(https?|mailto):/i;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const escaped = (text: string): string => text.replace(/[&<>]/g, (sign) => ENTITIES[sign] ?? sign);

/** Tags in an answer are shown as they were written: `List<int>` is no HTML, and `<think>` is to be seen. */
const markdown = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ text, href }) => escaped(text || href),
  },
});

/** The answer as Markdown, without colours: a token may hold half of a mark, or two. */
export class FormattedText {
  readonly element = element('div', { class: 'formatted', hidden: '' });
  #drawn = '';

  update(text: string): void {
    if (text === this.#drawn) return;
    this.#drawn = text;
    const fragment = DOMPurify.sanitize(markdown.parse(text, { async: false }), {
      ALLOWED_TAGS,
      ALLOWED_ATTR,
      ALLOWED_URI_REGEXP,
      RETURN_DOM_FRAGMENT: true,
    });
    for (const link of fragment.querySelectorAll('a')) {
      link.target = '_blank';
      link.rel = 'noopener noreferrer';
    }
    this.element.replaceChildren(fragment);
  }
}
