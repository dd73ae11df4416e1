/** The little Markdown that the reference is written in. */

export const code = (text: string): string => `\`${text}\``;

/** A table without a blank line at either end, so that parts can be joined by one. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A row is one line, and its cells end at a bar, also within code. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export const fence = (language: string, text: string): string =>
  `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

/** @param source file to change in place of the page */
export function page(title: string, source: string, parts: readonly string[]): string {
  const origin = `*Generated from ${source} by \`npm run reference\`; edit it there.*`;
  return `${[`# ${title}`, origin, ...parts].join('\n\n')}\n`;
}
