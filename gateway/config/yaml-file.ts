import {
  type Alias,
  Composer,
  type CST,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  Parser,
} from 'yaml';
import { fieldName } from '../../src/files/json.js';
import { ConfigError } from './config-error.js';

export interface ParsedYaml {
  readonly parsed: unknown;
  /** Line of a field, or of the innermost part around it that is present; the first line is 1. */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

/** Values that a file may stand for, those that aliases repeat among them. */
const MAX_VALUES = 1_000_000;
/** The library recurs, with much on the stack for each level; so does what reads the values. */
const MAX_LEVELS = 100;

type Path = readonly PropertyKey[];

/**
 * Reads YAML, which JSON is, too; a file with comments alone says nothing. It takes time in proportion to the text and
 * to the values that it stands for.
 * @throws ConfigError that names line and column. The text there is not shown: it may be a secret
 */
export function parseYaml(text: string, file: string): ParsedYaml {
  const lines = new LineCounter();
  const fail = (offset: number, problem: string): never => {
    const { line, col } = lines.linePos(offset);
    throw new ConfigError(`${file}:${line}:${col}`, problem);
  };
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const deep = tooDeep(tokens);
  if (deep !== null) fail(deep, `nests deeper than ${MAX_LEVELS} levels`);
  // The library finds duplicates by comparing all with all.
  const [document, another] = new Composer({ uniqueKeys: false }).compose(tokens, true, text.length);
  const [error] = document?.errors ?? [];
  // What follows the first colon is the text.
  if (error) fail(error.pos[0], error.message.replace(/(?<=\S): .*$/s, ''));
  if (another) fail(another.range[0], 'must be one document');
  const values = new Values(fail);
  const { contents = null } = document ?? {};
  return {
    parsed: values.of(contents, []).value ?? {},
    lineOf: (path) => lines.linePos(startOf(contents, path, values)).line,
  };
}

/** Offset of the first token beyond the deepest level. */
function tooDeep(tokens: readonly CST.Token[]): number | null {
  let level = tokens;
  for (let depth = 0; depth <= MAX_LEVELS && level.length > 0; depth++) {
    level = level.flatMap((token) => {
      if (token.type === 'document') return token.value ?? [];
      if (!('items' in token)) return [];
      return token.items.flatMap(({ key, value }) => [key ?? [], value ?? []].flat());
    });
  }
  return level[0]?.offset ?? null;
}

/** A part of a document: what it stands for, how many values these are, and how deep they nest. */
interface Part {
  readonly value: unknown;
  readonly size: number;
  readonly height: number;
}

/** What the nodes of a document stand for. */
class Values {
  /** What aliases stand for. */
  readonly targets = new Map<Alias, Node>();
  readonly #anchors = new Map<string, Node>();
  /** `null` while a part is read: what repeats it there repeats itself. */
  readonly #parts = new Map<Node, Part | null>();
  readonly #fail: (offset: number, problem: string) => never;

  constructor(fail: (offset: number, problem: string) => never) {
    this.#fail = fail;
  }

  of(node: unknown, path: Path): Part {
    if (!isNode(node)) return { value: null, size: 1, height: 0 };
    const offset = node.range?.[0] ?? 0;
    if (isAlias(node)) return this.#repeated(node, offset, path);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    this.#parts.set(node, null);
    const parts: [name: PropertyKey, part: Part][] = [];
    if (isSeq(node))
      for (const [i, item] of node.items.entries()) parts.push([i, this.of(item, [...path, i])]);
    const names = new Set<string>();
    for (const { key, value } of isMap(node) ? node.items : []) {
      const at = isNode(key) ? (key.range?.[0] ?? offset) : offset;
      const { value: name } = this.of(key, path);
      if (typeof name === 'object' && name !== null) this.#fail(at, 'the name of a field must be a text');
      const text = String(name ?? '');
      if (names.has(text)) this.#fail(at, `${fieldName([...path, text])}: is given twice`);
      names.add(text);
      parts.push([text, this.of(value, [...path, text])]);
    }
    const size = parts.reduce((sum, [, part]) => sum + part.size, 1);
    const height = 1 + parts.reduce((most, [, part]) => Math.max(most, part.height), 0);
    if (size > MAX_VALUES) this.#fail(offset, `stands for more than ${MAX_VALUES} values`);
    if (height > MAX_LEVELS) this.#fail(offset, `nests deeper than ${MAX_LEVELS} levels`);
    const part = { value: toValue(node, parts), size, height };
    this.#parts.set(node, part);
    return part;
  }

  #repeated(alias: Alias, offset: number, path: Path): Part {
    const target = this.#anchors.get(alias.source);
    const location = path.length === 0 ? '' : `${fieldName(path)}: `;
    if (!target) return this.#fail(offset, `${location}the alias has no anchor before it`);
    this.targets.set(alias, target);
    return (
      this.#parts.get(target) ?? this.#fail(offset, `${location}the alias stands for what it is a part of`)
    );
  }
}

function toValue(node: Node, parts: readonly (readonly [PropertyKey, Part])[]): unknown {
  if (isSeq(node)) return parts.map(([, { value }]) => value);
  // `fromEntries` also makes a field named "__proto__", which the schema then refuses like any unknown field.
  if (isMap(node)) return Object.fromEntries(parts.map(([name, { value }]) => [name, value]));
  return isScalar(node) ? node.value : null;
}

/** Offset of the name of a field, or of an item of a list. */
function startOf(contents: Node | null, path: Path, { targets }: Values): number {
  let start = 0;
  let node: unknown = contents;
  for (const name of path) {
    const within = isAlias(node) ? targets.get(node) : node;
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
