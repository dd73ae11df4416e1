import DOMPurify from 'dompurify';
import { type Answer, answerText } from 'flinch-client';
import { element } from './dom.js';
import { toHtml } from './markdown.js';
import { flaggedRanges } from './queries.js';

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
    'mark',
  ],
  ...['ul', 'ol', 'li', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
];
const ALLOWED_ATTR = ['href', 'title', 'start', 'align'];
const ALLOWED_URI_REGEXP = /^(https?|mailto):/i;

/** The answer as Markdown with its flagged steps, without colours: a token may hold half of a mark, or two. */
export class FormattedText {
  readonly element = element('div', { class: 'formatted', hidden: '' });
  #drawn = '';

  update(answer: Answer): void {
    const html = toHtml(answerText(answer), flaggedRanges(answer));
    if (html === this.#drawn) return;
    this.#drawn = html;
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
    this.element.replaceChildren(fragment);
  }
}
