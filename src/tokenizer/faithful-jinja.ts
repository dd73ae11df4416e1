import { Environment, parse, tokenize } from '@huggingface/jinja';
import { isRecord } from '../files/json.js';
import { BoundedInterpreter } from './bounded-interpreter.js';

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
 * Another difference: a loop over what is not defined, as `message.tool_calls` often is, has no turns.
 *
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
  const interpreter = new BoundedInterpreter(environment, limitMs);
  const evaluate = interpreter.evaluate.bind(interpreter);
  const loopedOver = new WeakSet<object>();
  interpreter.evaluate = (node, scope) => {
    const over = iterableOf(node);
    if (over) loopedOver.add(over);
    const value = evaluate(node, scope);
    return value.type === 'UndefinedValue' && isRecord(node) && loopedOver.has(node)
      ? evaluate(EMPTY, scope)
      : value;
  };
  return String(interpreter.run(program).value);
}

const EMPTY = parse(tokenize('{{ [] }}')).body[0];

/** The list of a `for` loop, without its condition. */
function iterableOf(node: unknown): object | null {
  if (!isRecord(node) || node.type !== 'For' || !isRecord(node.iterable)) return null;
  const { iterable } = node;
  return iterable.type === 'SelectExpression' && isRecord(iterable.lhs) ? iterable.lhs : iterable;
}
