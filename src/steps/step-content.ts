/** Words that carry a step without being part of what it states. */
const CONNECTIVES = new Set(
  'after and are as at be become becomes begin by compute first finally following for from get gets give gives giving has have hence here is it its last leads let lets next now of on so start step such that the their then therefore these they this those thus to was we were what which with'.split(
    ' ',
  ),
);

const TOKEN = /\d+(?:[.,]\d+)*|[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*|[^\s\p{L}\p{M}\d]/gu;
const SYMBOL = /^[-+*/^%=<>()[\]{}]$/;

/**
 * Content of a step, for comparing steps in different words: its equations and further numbers if it has an
 * equation, else its words, numbers and signs in order, without connectives, case and punctuation. This is a
 * coarse heuristic; if you know the domain, you can do better.
 */
export function stepContent(text: string): string {
  const tokens =
    text.normalize('NFKC').replace(/[−–]/g, '-').replace(/[×·]/g, '*').replace(/÷/g, '/').match(TOKEN) ?? [];
  return equationsOf(tokens) ?? wordsOf(tokens);
}

/** Runs of mathematics that hold an equals sign and a digit, and the numbers beside them; `null` without any. */
function equationsOf(tokens: readonly string[]): string | null {
  const parts: string[] = [];
  let found = false;
  let run: string[] = [];
  const close = (): void => {
    const equation = run.includes('=') && run.some(isNumber);
    found ||= equation;
    for (const part of equation ? [run.join('')] : run.filter(isNumber)) parts.push(part);
    run = [];
  };
  let depth = 0;
  for (const [i, token] of tokens.entries()) {
    if (/^[([{]$/.test(token)) depth += 1;
    if (/^[)\]}]$/.test(token)) depth -= 1;
    if (isMath(token, tokens[i - 1], tokens[i + 1], depth > 0)) run.push(token.toLowerCase());
    else close();
  }
  close();
  return found ? parts.join('; ') : null;
}

function isMath(token: string, before = '', after = '', bracketed = false): boolean {
  if (isNumber(token) || SYMBOL.test(token)) return true;
  if (token === ',') return bracketed;
  if (!/^\p{L}/u.test(token)) return false;
  return SYMBOL.test(before) || SYMBOL.test(after) || (token.length === 1 && !/[aI]/.test(token));
}

function wordsOf(tokens: readonly string[]): string {
  // "a" is an article; "A" may be an answer.
  const said = tokens.filter((token) => token !== 'a' && !CONNECTIVES.has(token.toLowerCase()));
  return said
    .filter((token) => isNumber(token) || /^[\p{L}\p{M}]/u.test(token) || /^[-+*/^%<>=]$/.test(token))
    .join(' ')
    .toLowerCase();
}

const isNumber = (token: string): boolean => /^\d/.test(token);
