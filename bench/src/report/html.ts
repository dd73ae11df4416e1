import { visible } from 'flinch/internals';

/** Markup that is safe to put into a page as it is. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Value = Html | string | number | null | readonly Html[];

/**
 * Markup of a template: whatever is put in is text and escaped, unless it is markup itself. `null` is nothing.
 * @example html`<td>${'<script>'}</td>`.markup === '<td>&lt;script&gt;</td>'
 */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(parts.reduce((markup, part, i) => `${markup}${write(values[i - 1] ?? null)}${part}`));
}

const write = (value: Value): string => {
  if (value === null) return '';
  if (value instanceof Html) return value.markup;
  return typeof value === 'object' ? value.map(write).join('') : escapeHtml(String(value));
};

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

/** Characters that no XML or HTML text may hold: noncharacters, and halves of a pair. */
const FORBIDDEN = /[\ufffe\uffff\ufdd0-\ufdef]|\p{Surrogate}/gu;

/** A text as a person may see it on a page: a model may write anything. */
export const shownText = (text: string): string =>
  visible(text.replaceAll('\r\n', '\n')).replace(FORBIDDEN, '\ufffd');

/** Escapes text for an element or a quoted attribute. */
const escapeHtml = (text: string): string =>
  shownText(text).replace(/[&<>"']/g, (character) => ENTITIES.get(character) ?? character);
