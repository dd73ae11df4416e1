import { Help } from 'commander';

/** What help ends with: commands stay whole, to be copied. */
const EXAMPLES = /(?=\n\nExamples?:\n)/;
/** A line break within a paragraph; headings end with a colon, and lists are indented. */
const WITHIN = /(?<=^\S.*[^:\n])\n(?=\S)/gm;
/** What stands before the text of a line: blanks, and in a list the name of the item. */
const BEFORE = /^ *(?:\S.*? {2,})?/;

/** Text of `--help` in lines of a width. */
export function fitted(text: string, width: number): string {
  const [notes = '', ...examples] = text.split(EXAMPLES);
  const lines = notes.replace(WITHIN, ' ').split('\n');
  const fit = (line: string): string => {
    const [before = ''] = BEFORE.exec(line) ?? [];
    return before + hanging(line.slice(before.length), width, before.length);
  };
  const fitting = lines.map((line) => (line.length > width ? fit(line) : line));
  return [fitting.join('\n'), ...examples].join('');
}

/** Text whose further lines are indented as the first. */
export const hanging = (text: string, width: number, indent: number): string =>
  new Help().boxWrap(text, width - indent).replaceAll('\n', `\n${' '.repeat(indent)}`);
