/** Words that carry a step without being part of what it states. */
const CONNECTIVES = new Set(
  'a after and are as at be become becomes begin by compute first finally following for from get gets give gives giving has have hence here is it its last leads let lets next now of on so start step such that the their then therefore these they this those thus to was we were what which with'.split(
    ' ',
  ),
);

const OPERAND = String.raw`[^\s=,;:]+`;
const SIDE = String.raw`${OPERAND}(?:\s*[-+*/×÷^%]\s*${OPERAND})*`;
const EQUATION = new RegExp(String.raw`${SIDE}(?:\s*=\s*${SIDE})+`, 'gu');

/**
 * What a step states, for comparing steps in different words: its equations where it has any, else its words and numbers
 * in order, without connectives, case and punctuation. A heuristic; whoever knows the domain can do better.
 */
export function stepContent(text: string): string {
  const plain = text.normalize('NFKC').toLowerCase();
  const equations = plain.match(EQUATION);
  if (equations)
    return equations.map((equation) => equation.replace(/\s+/g, '').replace(/[.!?]+$/, '')).join('; ');
  const words = plain.match(/-?\d+(?:[.,]\d+)*|[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*|[^\s\p{L}\p{P}]/gu) ?? [];
  return words.filter((word) => !CONNECTIVES.has(word)).join(' ');
}
