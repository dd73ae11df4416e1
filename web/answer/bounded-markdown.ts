import { Lexer, type MarkedOptions, type Token, type TokensList } from 'marked';

/** Maximum characters of an answer that is read as Markdown. */
export const MOST_MARKDOWN = 50_000;
/** The same of a paragraph, an item or a cell: some of what is found in these takes the square of their length. */
const MOST_INLINE = 4096;
/** Lists and quotes within each other. */
const DEEPEST = 16;
/** Columns of a table, and cells of all: browsers lay out thousands in seconds. */
const MOST_COLUMNS = 100;
const MOST_CELLS = 4000;

/** A text as it is, line by line. */
const plain = (source: string): Token[] =>
  source.split('\n').flatMap((raw, i): Token[] => {
    const text = { type: 'text', raw, text: raw, escaped: false };
    return i === 0 ? [text] : [{ type: 'br', raw: '\n' }, text];
  });

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
      tokens.push({ type: 'paragraph', raw: source, text: source, tokens: plain(source) });
      return tokens;
    }
    this.#depth += 1;
    super.blockTokens(source, tokens, clipped);
    this.#depth -= 1;
    return tokens;
  }

  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    if (source.length <= MOST_INLINE) return super.inlineTokens(source, tokens);
    tokens.push(...plain(source));
    return tokens;
  }
}

/** The cells of an answer's tables. */
export class Cells {
  #left = MOST_CELLS;

  /** Whether a table that a text begins with has more columns or cells than it may, if it is one. */
  exceeded(source: string): boolean {
    const end = source.indexOf('\n\n');
    const lines = source.slice(0, end < 0 ? undefined : end).split('\n', MOST_CELLS);
    const [, rule = ''] = lines;
    const columns = /^[ |:-]*$/.test(rule) ? (rule.match(/-+/g)?.length ?? 0) : 0;
    this.#left -= columns * lines.length;
    return columns > MOST_COLUMNS || this.#left < 0;
  }
}
