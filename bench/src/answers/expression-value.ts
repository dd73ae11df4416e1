import {
  add,
  type Complex,
  cos,
  divide,
  log,
  modulus,
  multiply,
  negate,
  power,
  real,
  sin,
} from './complex.js';
import type { MathJson } from './latex.js';

/** Result that is no number: it never equals anything. */
const UNDEFINED: Complex = [Number.NaN, Number.NaN];

const CONSTANTS: Readonly<Record<string, Complex>> = {
  Pi: real(Math.PI),
  e: real(Math.E),
  ExponentialE: real(Math.E),
  i: [0, 1],
  ImaginaryUnit: [0, 1],
};

const ONE = real(1);
const over = (f: (z: Complex) => Complex) => (z: Complex) => divide(ONE, f(z));
const tan = (z: Complex) => divide(sin(z), cos(z));
const ofReal =
  (f: (x: number) => number) =>
  ([re, im]: Complex): Complex =>
    im === 0 ? real(f(re)) : UNDEFINED;
const LN_10 = real(Math.LN10);

const UNARY: Readonly<Record<string, (z: Complex) => Complex>> = {
  Negate: negate,
  Sqrt: (z) => power(z, real(0.5)),
  Abs: (z) => real(modulus(z)),
  Sin: sin,
  Cos: cos,
  Tan: tan,
  Cot: over(tan),
  Sec: over(cos),
  Csc: over(sin),
  Arcsin: ofReal(Math.asin),
  Arccos: ofReal(Math.acos),
  Arctan: ofReal(Math.atan),
  Ln: log,
  Lb: (z) => divide(log(z), real(Math.LN2)),
  Factorial: ofReal(factorial),
};

/**
 * The value of an expression where its names have these values; not finite where it has none, or holds what is not
 * known here. In numbers of 64 bits: however large the numbers of the expression, the time is that of its length.
 */
export function expressionValue(node: MathJson, names: ReadonlyMap<string, Complex>): Complex {
  if (typeof node === 'number') return real(node);
  if (typeof node === 'string') return CONSTANTS[node] ?? names.get(node) ?? UNDEFINED;
  if (isCall(node)) return callValue(node, names);
  return 'num' in node ? real(Number(node.num)) : UNDEFINED;
}

/** The names of an expression that have no value of their own. */
export function freeNames(node: MathJson): string[] {
  if (typeof node === 'string') return node in CONSTANTS ? [] : [node];
  return isCall(node) ? node.slice(1).flatMap((operand) => freeNames(operand ?? '')) : [];
}

type Call = readonly [string, ...MathJson[]];
const isCall = (node: MathJson): node is Call => Array.isArray(node);

function callValue([name, ...operands]: Call, names: ReadonlyMap<string, Complex>): Complex {
  const value = (operand: MathJson | undefined): Complex =>
    operand === undefined ? UNDEFINED : expressionValue(operand, names);
  const [first, second, ...more] = operands;
  if (name === 'Add') return operands.map(value).reduce(add, real(0));
  if (name === 'Multiply') return operands.map(value).reduce(multiply, ONE);
  if (name === 'InvisibleOperator') return juxtaposed(operands, value);
  if (name === 'Apply') return inverseFunction(first, value(second));
  if (first === undefined || more.length > 0) return UNDEFINED;
  if (second === undefined) {
    if (name === 'Delimiter') return value(first);
    if (name === 'Log') return divide(log(value(first)), LN_10);
    return UNARY[name]?.(value(first)) ?? UNDEFINED;
  }
  if (name === 'Divide' || name === 'Rational') return divide(value(first), value(second));
  if (name === 'Power') return power(value(first), value(second));
  if (name === 'Root') return root(value(first), value(second));
  if (name === 'Log') return divide(log(value(first)), log(value(second)));
  return UNDEFINED;
}

/** A product without a sign, but 1\frac{1}{2} is a mixed number; two numbers side by side mean nothing. */
function juxtaposed(operands: readonly MathJson[], value: (operand: MathJson) => Complex): Complex {
  const [first, second, ...more] = operands;
  if (typeof first === 'number' && second !== undefined && isNumericFraction(second)) {
    return Number.isInteger(first) && more.length === 0 ? add(real(first), value(second)) : UNDEFINED;
  }
  if (operands.some((node, i) => typeof node === 'number' && typeof operands[i - 1] === 'number'))
    return UNDEFINED;
  return operands.map(value).reduce(multiply, ONE);
}

const isNumericFraction = (node: MathJson): boolean =>
  isCall(node) && node[0] === 'Divide' && typeof node[1] === 'number' && typeof node[2] === 'number';

function inverseFunction(f: MathJson | undefined, z: Complex): Complex {
  if (f === undefined || !isCall(f) || f[0] !== 'InverseFunction' || typeof f[1] !== 'string')
    return UNDEFINED;
  return UNARY[`Arc${f[1].toLowerCase()}`]?.(z) ?? UNDEFINED;
}

/** An odd root of a negative number is the real one. */
function root(z: Complex, degree: Complex): Complex {
  const odd = degree[1] === 0 && Math.abs(degree[0] % 2) === 1;
  if (odd && z[1] === 0 && z[0] < 0) return real(-((-z[0]) ** (1 / degree[0])));
  return power(z, divide(ONE, degree));
}

function factorial(n: number): number {
  if (!Number.isInteger(n) || n < 0 || n > 170) return Number.NaN;
  let product = 1;
  for (let k = 2; k <= n; k += 1) product *= k;
  return product;
}
