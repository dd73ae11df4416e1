import { Lexer, type MarkedOptions, type Token, type TokensList } from 'marked';

/** Maximum characters of an answer that is read as Markdown. */
export const MOST_MARKDOWN = 100_000;
/** The same of a paragraph, an item or a cell: some of what is found in these takes the square of their length. */
const MOST_INLINE = 4096;
/** Lists and quotes within each other. */
const DEEPEST = 16;
/** Columns of a table: browsers lay out thousands in seconds. */
const MOST_COLUMNS = 100;

const textOf = (raw: string): Token => ({ type: 'text', raw, text: raw, escaped: false });

/** Leaves as text what is too long or too deep. */
export class BoundedLexer<Parsed, Rendered> extends Lexer<Parsed, Rendered> {
  #depth = 0;

  static of<Parsed, Rendered>(source: string, options?: MarkedOptions<Parsed, Rendered>): TokensList {
    return new BoundedLexer(options).lex(source);
  }

  override blockTokens(source: string, tokens?: Token[], clipped?: boolean): Token[];
  override blockTokens(source: string, tokens?: TokensList, clipped?: boolean): TokensList;
  override blockTokens(source: string, tokens: Token[] = [], clipped = false): Token[] {
    if (this.#depth >= DEEPEST) {
      tokens.push(textOf(source));
      return tokens;
    }
    this.#depth += 1;
    super.blockTokens(source, tokens, clipped);
    this.#depth -= 1;
    return tokens;
  }

  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    if (source.length <= MOST_INLINE) return super.inlineTokens(source, tokens);
    tokens.push(textOf(source));
    return tokens;
  }
}

/** Whether the line that a text begins with has more columns than a table may. */
export function isTooWide(source: string): boolean {
  const [head = ''] = source.split('\n', 1);
  return head.split('|', MOST_COLUMNS + 2).length > MOST_COLUMNS + 1;
}
