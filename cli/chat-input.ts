/** Marks the first and the last of several lines that are one question. */
const QUOTES = '"""';

/** What a person typed: a question, or a command. */
export type ChatInput =
  | { readonly type: 'question'; readonly text: string }
  | { readonly type: 'help' | 'new' | 'bye' }
  | { readonly type: 'system'; readonly text: string | undefined }
  | { readonly type: 'save'; readonly file: string }
  | { readonly type: 'wrong'; readonly problem: string };

export const CHAT_HELP = `/help           this list
/new            forget the conversation
/system TEXT    begin anew with another system message; without TEXT, with none
/save FILE      write the messages to a file, as JSON
/bye            end (also exit, or Ctrl-D)
${QUOTES}             begin a question of several lines, and end it
Ctrl-C          stop the answer`;

/** Puts typed lines together. */
export class ChatLines {
  #lines: string[] | null = null;

  /** Whether a question of several lines is not over. */
  get isOpen(): boolean {
    return this.#lines !== null;
  }

  /** @returns `null` for an empty line, and until a question of several lines is over */
  read(line: string): ChatInput | null {
    if (this.#lines) return this.#goOn(this.#lines, line);
    const text = line.trim();
    if (text.startsWith(QUOTES)) {
      this.#lines = [];
      return this.#goOn(this.#lines, text.slice(QUOTES.length));
    }
    return text === '' ? null : inputOf(text);
  }

  #goOn(lines: string[], line: string): ChatInput | null {
    const end = line.trimEnd();
    if (!end.endsWith(QUOTES)) {
      lines.push(line);
      return null;
    }
    this.#lines = null;
    const text = [...lines, end.slice(0, -QUOTES.length)].join('\n').trim();
    return text === '' ? null : { type: 'question', text };
  }
}

function inputOf(text: string): ChatInput {
  if (/^(exit|quit)$/i.test(text)) return { type: 'bye' };
  // A path is no command.
  const [, name, given = ''] = /^\/(\w+)(?:\s+(.*))?$/.exec(text) ?? [];
  switch (name) {
    case undefined:
      return { type: 'question', text };
    case 'help':
    case 'new':
    case 'bye':
      return { type: name };
    case 'system':
      return { type: 'system', text: given || undefined };
    case 'save':
      return given ? { type: 'save', file: given } : { type: 'wrong', problem: '/save needs a file' };
    default:
      return { type: 'wrong', problem: `/${name} is no command; /help lists them` };
  }
}
