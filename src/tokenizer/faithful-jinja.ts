import { Environment, parse, tokenize } from '@huggingface/jinja';
import { isRecord } from '../files/json.js';
import { BoundedInterpreter } from './bounded-interpreter.js';
import { pythonText, type TemplateValue } from './python-text.js';

type Program = ReturnType<typeof parse>;

const STRING = /"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'/g;
/** Up to its end, or to where another begins: a tag that is never closed must not be searched again and again. */
const TAG = new RegExp(`\\{[%{](?:${STRING.source}|(?![%}]\\}|\\{[%{])[^"'])*[%}]\\}`, 'g');

/**
 * `@huggingface/jinja` where it differs from Jinja, by which templates are made:
 * - every line end of a template is taken for that of Unix, also within strings;
 * - a string goes on after a backslash at the end of a line, as in Mistral Small's template.
 *
 * @throws Error for a template that is not Jinja
 */
export function parseTemplate(source: string): Program {
  const joined = source
    .replace(/\r\n?/g, '\n')
    .replace(TAG, (tag) => tag.replace(STRING, (text) => text.replace(/\\[\s\S]/g, withoutLineEnd)));
  return parse(tokenize(joined, { trim_blocks: true, lstrip_blocks: true }));
}

const withoutLineEnd = (escaped: string): string => (escaped === '\\\n' ? '' : escaped);

/**
 * @param limitMs that it may take
 * @throws TextLimitError
 */
export function runTemplate(
  program: Program,
  variables: Readonly<Record<string, unknown>>,
  limitMs: number,
): string {
  const environment = new Environment();
  for (const [name, value] of Object.entries(variables)) environment.set(name, value);
  return String(new FaithfulInterpreter(environment, limitMs).run(program).value);
}

/** The end of a loop's turn by `break` or `continue`. */
class TurnEnd extends Error {
  /** Text of the turn so far. */
  text = '';

  /** @param cause what the library throws for it */
  constructor(cause: unknown) {
    super('not in a loop', { cause });
  }
}

/**
 * `@huggingface/jinja` where it runs a template differently from Jinja:
 * - a loop over what is not defined, as `message.tool_calls` often is, has no turns;
 * - what stands in a turn before `break` or `continue` is kept;
 * - values are printed, and joined, as Python prints them;
 * - a filter for texts takes any value, and one of what is not defined takes an empty text or list.
 */
class FaithfulInterpreter extends BoundedInterpreter {
  readonly #loopedOver = new WeakSet<object>();
  /** Blocks of loops: their bodies, and what they have for no turns. */
  readonly #blocks = new WeakSet<object>();
  /** Texts of ended turns that the library does not know, for each loop that is run. */
  readonly #ended: string[] = [];

  override evaluate(node: unknown, scope: object): TemplateValue {
    if (!isRecord(node)) return super.evaluate(node, scope);
    if (node.type === 'For') return this.#loop(node, scope);
    if (node.type === 'Break' || node.type === 'Continue') return this.#endTurn(node, scope);
    if (node.type === 'BinaryExpression' && isRecord(node.operator) && node.operator.value === '~') {
      const [left, right] = [this.evaluate(node.left, scope), this.evaluate(node.right, scope)];
      return this.#text(pythonText(left) + pythonText(right), scope);
    }
    const value = super.evaluate(node, scope);
    const isEmpty = value.type === 'UndefinedValue' && this.#loopedOver.has(node);
    return isEmpty ? this.#list([], scope) : value;
  }

  override evaluateBlock(statements: readonly unknown[], scope: object): TemplateValue {
    const isTurn = this.#blocks.has(statements);
    let text = isTurn ? this.#takeEnded() : '';
    for (const statement of statements) {
      try {
        const value = this.evaluate(statement, scope);
        // Statements without a text of their own have the value null.
        if (value.type !== 'NullValue' || isPrinted(statement)) text += pythonText(value);
      } catch (error) {
        if (!(error instanceof TurnEnd)) throw error;
        error.text = text + error.text;
        if (!isTurn) throw error;
        this.#ended[this.#ended.length - 1] = error.text;
        throw error.cause;
      }
    }
    return this.#text(text, scope);
  }

  override applyFilter(operand: TemplateValue, filter: unknown, scope: object): TemplateValue {
    return super.applyFilter(this.#operandOf(nameOf(filter), operand, scope), filter, scope);
  }

  /** What Jinja makes of a value that is given to a filter. */
  #operandOf(filter: string, operand: TemplateValue, scope: object): TemplateValue {
    const { type, value } = operand;
    if (type === 'UndefinedValue' && OF_LISTS.has(filter)) return this.#list([], scope);
    if (filter === 'join' && Array.isArray(value)) return this.#list(value.map(pythonText), scope);
    return typeof value !== 'string' && OF_TEXTS.has(filter)
      ? this.#text(pythonText(operand), scope)
      : operand;
  }

  #loop(node: Readonly<Record<string, unknown>>, scope: object): TemplateValue {
    for (const block of [node.body, node.defaultBlock]) if (isBlock(block)) this.#blocks.add(block);
    if (isRecord(node.iterable)) this.#loopedOver.add(listOf(node.iterable));
    const depth = this.#ended.push('');
    try {
      const value = super.evaluate(node, scope);
      return this.#text(pythonText(value) + this.#ended[depth - 1], scope);
    } finally {
      this.#ended.length = depth - 1;
    }
  }

  #endTurn(node: unknown, scope: object): never {
    try {
      super.evaluate(node, scope);
    } catch (cause) {
      throw new TurnEnd(cause);
    }
    throw new Error('a loop control that controls nothing');
  }

  /** Text of ended turns of the innermost loop, which is written before what follows them. */
  #takeEnded(): string {
    const text = this.#ended.at(-1) ?? '';
    this.#ended[this.#ended.length - 1] = '';
    return text;
  }

  #text(value: string, scope: object): TemplateValue {
    return super.evaluate({ type: 'StringLiteral', value }, scope);
  }

  #list(texts: readonly string[], scope: object): TemplateValue {
    return super.evaluate(
      { type: 'ArrayLiteral', value: texts.map((value) => ({ type: 'StringLiteral', value })) },
      scope,
    );
  }
}

const isBlock = (value: unknown): value is unknown[] => Array.isArray(value);

/** Filters by the values that Jinja makes of what they are given. */
const OF_TEXTS: ReadonlySet<string> = new Set([
  ...['upper', 'lower', 'title', 'capitalize', 'trim', 'string', 'replace'],
]);
const OF_LISTS: ReadonlySet<string> = new Set([
  ...['list', 'length', 'join', 'sort', 'reverse', 'unique', 'map', 'selectattr', 'rejectattr'],
]);

/** Name of a filter, with arguments or without. */
function nameOf(filter: unknown): string {
  const { callee = filter } = isRecord(filter) ? filter : {};
  return isRecord(callee) ? String(callee.value) : '';
}

const STATEMENTS: ReadonlySet<unknown> = new Set([
  ...['Set', 'If', 'For', 'Macro', 'CallStatement', 'FilterStatement', 'Comment'],
]);

const isPrinted = (statement: unknown): boolean => isRecord(statement) && !STATEMENTS.has(statement.type);

/** The list of a `for` loop, without its condition. */
const listOf = (iterable: Readonly<Record<string, unknown>>): object =>
  iterable.type === 'SelectExpression' && isRecord(iterable.lhs) ? iterable.lhs : iterable;
