/** Real and imaginary part. */
export type Complex = readonly [re: number, im: number];

export const real = (value: number): Complex => [value, 0];
export const finite = ([re, im]: Complex): boolean => Number.isFinite(re) && Number.isFinite(im);
export const modulus = ([re, im]: Complex): number => Math.hypot(re, im);

export const add = ([a, b]: Complex, [c, d]: Complex): Complex => [a + c, b + d];
export const negate = ([a, b]: Complex): Complex => [-a, -b];
export const multiply = ([a, b]: Complex, [c, d]: Complex): Complex => [a * c - b * d, a * d + b * c];

export function divide([a, b]: Complex, [c, d]: Complex): Complex {
  if (d === 0) return [a / c, b / c];
  const size = c * c + d * d;
  return [(a * c + b * d) / size, (b * c - a * d) / size];
}

export const exp = ([a, b]: Complex): Complex =>
  b === 0 ? [Math.exp(a), 0] : [Math.exp(a) * Math.cos(b), Math.exp(a) * Math.sin(b)];

/** The principal value. */
export const log = (z: Complex): Complex => [Math.log(modulus(z)), Math.atan2(z[1], z[0])];

/** The principal value; exact as far as `Math.pow` is where the result is real. */
export function power(base: Complex, exponent: Complex): Complex {
  const [b, e] = [base[0], exponent[0]];
  if (base[1] === 0 && exponent[1] === 0 && (b >= 0 || Number.isInteger(e))) return [b ** e, 0];
  if (exponent[1] === 0 && Number.isInteger(e) && Math.abs(e) <= 64) return integerPower(base, e);
  return exp(multiply(exponent, log(base)));
}

function integerPower(base: Complex, exponent: number): Complex {
  let result = real(1);
  for (let i = 0; i < Math.abs(exponent); i += 1) result = multiply(result, base);
  return exponent < 0 ? divide(real(1), result) : result;
}

const times = (factor: Complex, z: Complex): Complex => multiply(factor, z);
const I: Complex = [0, 1];

/** sin z, by way of e^(iz); exact as far as `Math.sin` is for a real number. */
export function sin(z: Complex): Complex {
  if (z[1] === 0) return real(Math.sin(z[0]));
  return divide(add(exp(times(I, z)), negate(exp(negate(times(I, z))))), [0, 2]);
}

export function cos(z: Complex): Complex {
  if (z[1] === 0) return real(Math.cos(z[0]));
  return divide(add(exp(times(I, z)), exp(negate(times(I, z)))), real(2));
}
