/**
 * The string normalisation by which answers to MATH are compared since the data set was published (Hendrycks et al.,
 * 2021): two answers are the same where their normal forms are. Each step is text work only; what it cannot read it
 * refuses, and then the answers are compared as they are.
 */
export function sameNormalForm(a: string, b: string): boolean {
  const [normalA, normalB] = [normalForm(a), normalForm(b)];
  return normalA === null || normalB === null ? a === b : normalA === normalB;
}

/** @returns `null` for an answer that a step cannot read */
export function normalForm(answer: string): string | null {
  const cleaned = clean(answer);
  const withoutUnits = dropUnits(cleaned);
  if (withoutUnits === null) return null;
  const percentless = withoutUnits.replaceAll('\\%', '').replaceAll('%', '');
  const decimals = leadingZeros(percentless);
  if (decimals === '') return '';
  const roots = braceRoots(dropName(decimals));
  if (roots === null) return null;
  const fractions = braceFractions(roots.replaceAll(' ', ''));
  if (fractions === null) return null;
  return slashToFraction(fractions === '0.5' ? '\\frac{1}{2}' : fractions);
}

function clean(text: string): string {
  return text
    .replaceAll('\n', '')
    .replaceAll('\\!', '')
    .replaceAll('\\\\', '\\')
    .replaceAll('tfrac', 'frac')
    .replaceAll('dfrac', 'frac')
    .replaceAll('\\left', '')
    .replaceAll('\\right', '')
    .replaceAll('^{\\circ}', '')
    .replaceAll('^\\circ', '')
    .replaceAll('\\$', '');
}

/** Units stand to the right, in a `\text` that begins with a space; two of them cannot be read. */
function dropUnits(text: string): string | null {
  const parts = text.split('\\text{ ');
  return parts.length > 2 ? null : (parts[0] ?? '');
}

function leadingZeros(text: string): string {
  const inside = text.replaceAll(' .', ' 0.').replaceAll('{.', '{0.');
  return inside.startsWith('.') ? `0${inside}` : inside;
}

/** `k = 5` is 5: a name of at most two characters, the space included. */
function dropName(text: string): string {
  const [name, value, ...more] = text.split('=');
  return name !== undefined && value !== undefined && more.length === 0 && name.length <= 2 ? value : text;
}

/** `\sqrt3` is `\sqrt{3}`. */
function braceRoots(text: string): string | null {
  const [start = '', ...roots] = text.split('\\sqrt');
  if (roots.includes('')) return null;
  return start + roots.map((root) => `\\sqrt${root.startsWith('{') ? root : bracedHead(root)}`).join('');
}

/** `\frac12` is `\frac{1}{2}`, and `\frac1{72}` is `\frac{1}{72}`; one that stops too early leaves the text as it is. */
function braceFractions(text: string): string | null {
  const [start = '', ...fractions] = text.split('\\frac');
  if (fractions.includes('')) return null;
  if (fractions.some((rest) => !rest.startsWith('{') && rest.length < 2)) return text;
  return (
    start + fractions.map((rest) => `\\frac${rest.startsWith('{') ? rest : bracedFraction(rest)}`).join('')
  );
}

function bracedFraction(text: string): string {
  const denominator = text.slice(1);
  return `{${text.slice(0, 1)}}${denominator.startsWith('{') ? denominator : bracedHead(denominator)}`;
}

const bracedHead = (text: string): string => `{${text.slice(0, 1)}}${text.slice(1)}`;

/** `3/4` is `\frac{3}{4}`, of whole numbers as Python writes them. */
function slashToFraction(text: string): string {
  const whole = String.raw`(0|-?[1-9]\d*)`;
  return text.replace(new RegExp(`^${whole}/${whole}$`), '\\frac{$1}{$2}');
}
