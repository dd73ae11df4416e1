import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lexer, type Token } from 'marked';

/** A fenced block of code in a document. */
export interface Block {
  readonly file: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** Why it cannot run here, from the comment right above it: `<!-- not run: needs Docker -->`. */
  readonly notRun: string | null;
}

export interface Document {
  readonly file: string;
  readonly blocks: readonly Block[];
  /** Targets of links and images. */
  readonly links: readonly string[];
  /** Text between backticks. */
  readonly codeSpans: readonly string[];
  /** The anchors of its headings, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>;
}

const WITHOUT = ['node_modules', 'dist', 'test', 'coverage'];

/** Every Markdown file of the repository, but for those of tests. */
export function readDocuments(): Document[] {
  const folders = readdirSync('.', { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !WITHOUT.includes(entry.name))
    .flatMap(({ name }) =>
      readdirSync(name, { recursive: true, encoding: 'utf8' }).map((path) => join(name, path)),
    )
    .filter((path) => !path.includes('node_modules'));
  const files = [...readdirSync('.'), ...folders].filter((file) => file.endsWith('.md'));
  return files.toSorted().map((file) => parseDocument(file, readFileSync(file, 'utf8')));
}

const NOT_RUN = /^<!-- not run: (.+?) -->\s*$/;

export function parseDocument(file: string, source: string): Document {
  const blocks: Block[] = [];
  const links: string[] = [];
  const codeSpans: string[] = [];
  const headings: string[] = [];
  const visit = (tokens: readonly Token[], firstLine: number, parent: string): void => {
    let before: Token | undefined;
    let from = 0;
    for (const token of tokens) {
      // `raw` has lost its indentation within lists, but a line's words have not.
      const words = token.raw.trimStart().split('\n')[0] ?? '';
      const start = parent.startsWith(token.raw, from) ? from : Math.max(parent.indexOf(words, from), from);
      const line = firstLine + countLines(parent.slice(0, start));
      from = start + (parent.startsWith(token.raw, start) ? token.raw.length : words.length);
      if (token.type === 'code') {
        const [, notRun = null] = NOT_RUN.exec(before?.type === 'html' ? before.raw : '') ?? [];
        blocks.push({ file, line, language: token.lang ?? '', text: token.text, notRun });
      }
      if (token.type === 'link' || token.type === 'image') links.push(token.href);
      if (token.type === 'codespan') codeSpans.push(token.text);
      if (token.type === 'heading') headings.push(token.text);
      visit(childrenOf(token), line, token.raw);
      if (token.type !== 'space') before = token;
    }
  };
  visit(lexer(source), 1, source);
  return { file, blocks, links, codeSpans, anchors: anchorsOf(headings) };
}

const countLines = (text: string): number => text.split('\n').length - 1;

function childrenOf(token: Token): Token[] {
  if (token.type === 'list') return token.items.flatMap((item: { tokens: Token[] }) => item.tokens);
  if (token.type === 'table') {
    const cells: { tokens: Token[] }[] = [...token.header, ...token.rows.flat()];
    return cells.flatMap(({ tokens }) => tokens);
  }
  return 'tokens' in token && token.tokens ? token.tokens : [];
}

/** Lower case, words with `-` between; of equal ones the later are numbered. */
function anchorsOf(headings: readonly string[]): Set<string> {
  const anchors = new Set<string>();
  for (const heading of headings) {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-');
    let numbered = anchor;
    for (let i = 1; anchors.has(numbered); i++) numbered = `${anchor}-${i}`;
    anchors.add(numbered);
  }
  return anchors;
}

/** `README.md:12` */
export const placeOf = ({ file, line }: Block): string => `${file}:${line}`;

export const isShell = ({ language }: Block): boolean => ['sh', 'bash', 'console'].includes(language);
export const isProgram = ({ language }: Block): boolean => ['js', 'ts'].includes(language);

/** Commands that a user types: the lines after the prompt in a console block, else all of the block. */
export function commandsOf({ language, text }: Block): string {
  if (language !== 'console') return text;
  const typed = text.split('\n').filter((line) => line.startsWith('$ '));
  return typed.map((line) => line.slice(2)).join('\n');
}

/** Programs of a document: one that imports nothing goes on where the one before it ends. */
export function programsOf(blocks: readonly Block[]): Block[] {
  let before = '';
  return blocks.filter(isProgram).map((block) => {
    const text = /^import /m.test(block.text) ? block.text : `${before}\n${block.text}`;
    before = text;
    return { ...block, text };
  });
}

/** The file that a block is, by a comment in its first line: `# flinch.yaml`, `// page.js`. */
export const fileNameOf = ({ text }: Block): string | null =>
  /^(?:#|\/\/) ([\w.-]+\.\w+)\n/.exec(text)?.[1] ?? null;
