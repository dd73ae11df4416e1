/** Elements that are open, where a tag does not fit them; `null` for markup in which every tag is closed in order. */
export function misnested(page: string): string | null {
  const open: string[] = [];
  const body = page.replace(/<!DOCTYPE html>/, '').replace(/<style>.*?<\/style>/s, '');
  for (const [tag, slash, name, rest] of body.matchAll(/<(\/?)([a-zA-Z][\w:-]*)((?:[^<>"]|"[^"<>]*")*)>/g)) {
    if (slash === '') {
      if (!rest!.endsWith('/')) open.push(name!);
    } else if (open.pop() !== name) return `${open.join(' ')} ${tag}`;
  }
  const left = body.replace(/<\/?[a-zA-Z][\w:-]*(?:[^<>"]|"[^"<>]*")*>/g, '');
  if (/[<>]/.test(left))
    return `a bare < or > in …${left.slice(Math.max(0, left.search(/[<>]/) - 40)).slice(0, 80)}…`;
  return open.length === 0 ? null : `never closed: ${open.join(' ')}`;
}

export const namesOfElements = (page: string): Set<string> =>
  new Set([...page.matchAll(/<([a-zA-Z][\w-]*)/g)].map(([, name]) => name!.toLowerCase()));

export const namesOfAttributes = (page: string): Set<string> =>
  new Set(
    [...page.matchAll(/<[a-zA-Z][\w:-]*((?:[^<>"]|"[^"<>]*")*)>/g)].flatMap(([, rest]) =>
      [...rest!.matchAll(/([^\s=/]+)="[^"]*"/g)].map(([, name]) => name!.toLowerCase()),
    ),
  );

/** The cells of the tables of a Markdown text, by row, without the lines below headings. */
export const tableCells = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => /^\|(?!\s*:?-)/.test(line))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** What is read on the page, with one space for markup and white space. */
export const textOf = (page: string): string =>
  page
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&\S+?;/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/\s+/g, ' ');
