/** Sets the title of a terminal, clears its screen, colours, reorders, goes back and begins a line of its own. */
export const HOSTILE =
  '\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b8m\x7f\u202egpj.\u2066\rflinch: all is well\nflinch: all is well';

/** Styles of headings, of the program's name before an error, and of what a check has found. */
const OURS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what chalk writes
  /\x1b\[(?:1|22)m|\x1b\[31mflinch:\x1b\[39m|\x1b\[3[123]m(?:ok|warning|problem) *\x1b\[39m/g;

/** Characters that a terminal would obey instead of showing, but for line breaks and tabs. */
export const obeyed = (text: string): string[] =>
  text.replaceAll(OURS, '').match(/(?!\n|\t|\r\n)[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu) ?? [];
