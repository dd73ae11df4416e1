import { ComputeEngine } from '@cortex-js/compute-engine';

export type MathJson = ReturnType<ComputeEngine['parse']>['json'];

/** No answer of MATH is as long; the parser's time grows fast with what it cannot make sense of. */
const MAX_LENGTH = 200;
const MAX_DEPTH = 6;

/** All that an expression can be made of; what else stands in an answer is text, or not a single value. */
const FUNCTIONS = 'sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|ln|log';
const GREEK =
  'alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|rho|sigma|tau|upsilon|phi|chi|psi|omega';
const TOKEN = new RegExp(
  String.raw`\s+|\d+(?:\.\d*)?|\.\d+|[A-Za-z]|[-+*/^_!|(){}[\]]|\\(?:frac|sqrt|cdot|times|div|pi|overline|${FUNCTIONS}|${GREEK})(?![A-Za-z])`,
  'y',
);
/**
 * Inputs on which the parser would search long or misread the text: operators without operands, functions of
 * nothing, words.
 */
const SENSELESS = new RegExp(
  String.raw`(?<![\\A-Za-z])[A-Za-z]{4}|[-+]\s*[-+*/^_!)}\]]|[*/^_]\s*[-+*/^_!)}\]]|[({[]\s*[*/^_!)}\]]|(?:^|[^\s\w)}\]|!])\s*[*/!^_]|\\(?:${FUNCTIONS})\s*(?:[-+*/!)}\]]|$)|[-+*/^_]\s*$|!\s*!\s*!`,
);

let engine: ComputeEngine | undefined;

/**
 * The tree of an expression, as MathJSON; `null` for what is no expression of numbers, names and known functions. The
 * tree is not simplified, which for 9^{9^{9^9}} would never end.
 */
export function parseLatex(text: string): MathJson | null {
  if (text.length > MAX_LENGTH || !isExpression(text)) return null;
  engine ??= new ComputeEngine();
  return engine.parse(withoutExponents(withNamedIndices(text)), { canonical: false }).json;
}

function isExpression(text: string): boolean {
  const open: string[] = [];
  let bars = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const token = TOKEN.exec(text)?.[0];
    if (token === undefined) return false;
    if (token === '|') bars += 1;
    if ('([{'.includes(token)) open.push(token);
    if (')]}'.includes(token) && open.pop() !== '([{'[')]}'.indexOf(token)]) return false;
    if (open.length > MAX_DEPTH) return false;
  }
  return text.trim() !== '' && open.length === 0 && (bars === 0 || bars === 2) && !SENSELESS.test(text);
}

/** The parser takes `x_1` for an element of a list: names with an index are made names of their own. */
function withNamedIndices(text: string): string {
  return text.replace(/(?<!\\[A-Za-z]*)([A-Za-z])_(?:(\w)|\{(\w+)\})/g, (_, name, short, long) => {
    return `\\mathrm{index${name}${short ?? long}}`;
  });
}

/** The parser takes 2e-1 for 0.2, and runs out of memory on 1e999999999; in a formula e is a number. */
const withoutExponents = (text: string): string =>
  text.replace(/(\d\.?)\s*(?=[eE]\s*[-+]?\s*\d)/g, '$1\\cdot ');
