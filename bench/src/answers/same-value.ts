import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mersenne } from 'pure-rand/generator/mersenne';
import { add, type Complex, finite, modulus, negate, real } from './complex.js';
import { expressionValue, freeNames } from './expression-value.js';
import { type MathJson, parseLatex } from './latex.js';

const POINTS = 8;
const TOLERANCE = 1e-9;

/** Two expressions have the same value at {@link POINTS} random points; where one has none they are not the same. */
export function sameValue(a: string, b: string): boolean {
  const [left, right] = [parseLatex(a), parseLatex(b)];
  if (left === null || right === null) return false;
  return points([left, right]).every((point) =>
    near(expressionValue(left, point), expressionValue(right, point)),
  );
}

/** The equations a = b and c = d are the same where a − b and c − d are, up to the sign. */
export function sameEquation(a: readonly [string, string], b: readonly [string, string]): boolean {
  const sides = [...a, ...b].map(parseLatex).filter((side) => side !== null);
  const [leftA, rightA, leftB, rightB] = sides;
  if (!leftA || !rightA || !leftB || !rightB) return false;
  const differences = points(sides).map((point) => {
    const minus = (x: MathJson, y: MathJson): Complex =>
      add(expressionValue(x, point), negate(expressionValue(y, point)));
    return [minus(leftA, rightA), minus(leftB, rightB)] as const;
  });
  return differences.every(([x, y]) => near(x, y)) || differences.every(([x, y]) => near(x, negate(y)));
}

function near(x: Complex, y: Complex): boolean {
  if (!finite(x) || !finite(y)) return false;
  return modulus(add(x, negate(y))) <= TOLERANCE * Math.max(modulus(x), modulus(y));
}

/** Values from −3 to 3 for every name, the same for the same names in every run. */
function points(trees: readonly MathJson[]): ReadonlyMap<string, Complex>[] {
  const names = [...new Set(trees.flatMap(freeNames))].sort();
  const random = mersenne(names.length);
  const uniform = (): number => 6 * uniformFloat64(random) - 3;
  return Array.from({ length: POINTS }, () => new Map(names.map((name) => [name, real(uniform())])));
}
