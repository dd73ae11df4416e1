/** Where strings begin and end, and numbers. */
const TOKEN = /\\.|"|-?\d[\d.eE+-]*/g;

/**
 * JSON in which a number without an exponent is a string where JavaScript would write it otherwise: `12345678901234567`,
 * `0.0000001` and `1.10` keep their digits.
 *
 * @throws SyntaxError as `JSON.parse`
 */
export function parseExactJson(text: string): unknown {
  const parsed: unknown = JSON.parse(text);
  let inString = false;
  const exact = text.replace(TOKEN, (token) => {
    if (token === '"') inString = !inString;
    if (inString || !/^[\d.-]+$/.test(token) || String(Number(token)) === token) return token;
    return `"${token}"`;
  });
  return exact === text ? parsed : JSON.parse(exact);
}
