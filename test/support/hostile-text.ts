/** Sets the title of a terminal, clears its screen, colours, reorders, goes back and begins a line of its own. */
export const HOSTILE =
  '\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b8m\x7f\u202egpj.\u2066\rflinch: all is well\nflinch: all is well';

/** Styles of headings, and of the program's name before an error. */
const OURS = ['\x1b[1m', '\x1b[22m', '\x1b[31mflinch:\x1b[39m'];

/** Characters that a terminal would obey instead of showing, but for line breaks and tabs. */
export const obeyed = (text: string): string[] =>
  OURS.reduce((rest, style) => rest.replaceAll(style, ''), text).match(
    /(?!\n|\t|\r\n)[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu,
  ) ?? [];
