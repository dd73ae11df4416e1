import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { ConfigError } from './config-error.js';

/** Aliases that a file may have; those within what others stand for multiply. */
const MAX_ALIASES = 100_000;

export interface ParsedYaml {
  readonly parsed: unknown;
  /** Line of a field, or of the innermost part around it that is present; the first line is 1. */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

/**
 * Reads YAML, which JSON is, too; a file with comments alone says nothing.
 * @throws ConfigError that names line and column. The text there is not shown: it may be a secret
 */
export function parseYaml(text: string, file: string): ParsedYaml {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' });
  const [error] = document.errors;
  if (error) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    // What follows the first colon is the text.
    throw new ConfigError(`${file}:${line}:${col}`, error.message.replace(/(?<=\S): .*$/s, ''));
  }
  return {
    parsed: valuesOf(document, file),
    lineOf: (path) => lineCounter.linePos(startOf(document, path)).line,
  };
}

/** @throws ConfigError for aliases without an anchor, within what they stand for, or for too many values */
function valuesOf(document: Document, file: string): unknown {
  try {
    const values: unknown = document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {};
    JSON.stringify(values);
    return values;
  } catch (error) {
    if (error instanceof ReferenceError) throw new ConfigError(file, error.message);
    throw new ConfigError(file, 'an alias stands for what it is a part of');
  }
}

/** Offset of the name of a field, or of an item of a list. */
function startOf(document: Document, path: readonly PropertyKey[]): number {
  let start = 0;
  let node: unknown = document.contents;
  for (const name of path) {
    const within = isAlias(node) ? node.resolve(document) : node;
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
