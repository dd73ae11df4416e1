import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { ConfigError } from './config-error.js';

export interface ParsedYaml {
  readonly parsed: unknown;
  /** Line of a field, or of the innermost part around it that is present; the first line is 1. */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

/** @throws ConfigError that names line and column, and shows the line */
export function parseYaml(text: string, file: string): ParsedYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error) throw syntaxError(error, text, file, lines);
  return {
    parsed: valuesOf(document, file),
    lineOf: (path) => lines.linePos(startOf(document, path)).line,
  };
}

/** Characters of a line that are shown, around the place in question. */
const SHOWN = 100;

function syntaxError(
  { message, pos }: YAMLError,
  text: string,
  file: string,
  lines: LineCounter,
): ConfigError {
  const { line, col } = lines.linePos(pos[0]);
  const from = Math.max(0, col - SHOWN / 2);
  const shown = withoutPasswords(text.split('\n')[line - 1] ?? '').slice(from, from + SHOWN);
  return new ConfigError(`${file}:${line}:${col}`, `${message}\n${shown}\n${' '.repeat(col - 1 - from)}^`);
}

/** Those of addresses, such as Redis's, at the same length. */
const withoutPasswords = (line: string): string =>
  line.trimEnd().replace(/(?<=:\/\/[^\s/@]*:)[^\s/@]+(?=@)/g, (password) => '*'.repeat(password.length));

/** JSON is YAML. A file with comments alone says nothing. */
function valuesOf(document: Document, file: string): unknown {
  try {
    return document.toJS() ?? {};
  } catch (error) {
    // Aliases that are set later, or stand for too much, are found when they are put in their place.
    if (error instanceof ReferenceError) throw new ConfigError(file, error.message);
    throw error;
  }
}

/** Offset of the name of a field, or of an item of a list. */
function startOf(document: Document, path: readonly PropertyKey[]): number {
  let start = 0;
  let node: unknown = document.contents;
  for (const name of path) {
    const within: unknown = isAlias(node) ? node.resolve(document) : node;
    const pair = isMap(within)
      ? within.items.find(({ key }) => isScalar(key) && String(key.value) === String(name))
      : null;
    const item = pair ? pair.key : isSeq(within) ? within.items[Number(name)] : null;
    if (!isNode(item)) break;
    start = item.range?.[0] ?? start;
    node = pair ? pair.value : item;
  }
  return start;
}
