import { finite } from './complex.js';
import { expressionValue } from './expression-value.js';
import { parseLatex } from './latex.js';

/** Numbers, operators and brackets, with an equals sign among them, that no name, unit or percent sign touches. */
const EQUATION = /(?<![\w\\.^%}]|\\[a-z]+ *)[\d.+\-*/()^ ]+(?:=[\d.+\-*/()^ ]+)+(?![\w^%{]|\.?\d| *\.?\\)/g;
const OPERATOR = /[\d)] *[+\-*/^] *[\d(]/;

/**
 * The first step with a false equation of numbers, such as 3 + 12 = 16; `null` if there is none. A control for labels:
 * it finds wrong arithmetic and nothing else. Decimals may be rounded.
 */
export function firstFalseEquation(steps: readonly string[]): number | null {
  const first = steps.findIndex((step) => equationsIn(step).some(isFalse));
  return first < 0 ? null : first;
}

type Equation = readonly [left: string, right: string];

/** Neighbours of each chain a = b = c of which the left one has an operator. */
function equationsIn(step: string): Equation[] {
  const chains = plain(step).match(EQUATION) ?? [];
  return chains.flatMap((chain) => {
    const sides = chain.split('=').map((side) => side.trim().replace(/\.$/, ''));
    return sides
      .slice(1)
      .map((right, i): Equation => [sides[i]!, right])
      .filter(([left]) => OPERATOR.test(left));
  });
}

/** Without what stands around numbers in a solution: units, currencies, delimiters of formulas, thousands separators. */
const plain = (text: string): string =>
  text
    .replace(/\\(?:text|mathrm|textbf)\s*\{[^{}]*\}/g, ' ')
    .replace(/\\[()[\]]/g, ' ; ')
    .replace(/\\?\$|\\[!,;: ]|\\(?:left|right)(?![a-z])/g, '')
    .replace(/(?<=\d)(?:,|\{,\})(?=\d{3}(?!\d))/g, '')
    .replace(/(\d+)\s*(?=\\[dt]?frac)/g, '$1+')
    .replace(/\\[dt]?frac\s*\{(\d+)\}\s*\{(\d+)\}/g, '($1/$2)')
    .replace(/\\times(?![a-z])|\\cdot(?![a-z])|[×·]/g, '*')
    .replace(/\\div(?![a-z])|÷/g, '/')
    .replace(/[−–]/g, '-')
    .replace(/[.,;](?=\s)|\n/g, ' ; ');

function isFalse([left, right]: Equation): boolean {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a === null || b === null) return false;
  const places = Math.max(...[left, right].map((side) => /\.(\d+)\s*$/.exec(side)?.[1]?.length ?? 0));
  const rounding = places > 0 ? 10 ** -places : 0;
  return Math.abs(a - b) > rounding + 1e-9 * Math.max(Math.abs(a), Math.abs(b));
}

/** `null` for a part of an expression, or what has no real value. */
function numberOf(side: string): number | null {
  if (!/^[\d(]/.test(side)) return null;
  const tree = parseLatex(side);
  const value = tree === null ? null : expressionValue(tree, new Map());
  return value !== null && finite(value) && value[1] === 0 ? value[0] : null;
}
