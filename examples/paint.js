import chalk from 'chalk';

const SHADES = /** @type {const} */ ([
  [0.999, '#b34600'],
  [0.99, '#ee7715'],
  [0.95, '#ffab52'],
  [0.9, '#ffd599'],
]);

/**
 * A token's text, the darker the higher its risk, which is the share of ordinary tokens that score lower. Where nobody
 * sees colours it stays as it is.
 * @param {string} text
 * @param {number | undefined} risk in [0, 1]; `undefined` where it has none
 */
export function paint(text, risk) {
  const [least, colour] = SHADES.find(([least]) => (risk ?? 0) >= least) ?? [0, null];
  if (colour === null) return text;
  const ink = least > 0.99 ? chalk.bgHex(colour).whiteBright : chalk.bgHex(colour).black;
  // A painted line break would colour the rest of the line.
  return text.replace(/[^\r\n]+/g, (part) => ink(part));
}

/**
 * What a list of doubtful tokens says of one.
 * @param {string} text
 * @param {number} risk
 * @param {string | undefined} rival the other token whose probability grew most when the text before was nudged
 */
export const describeToken = (text, risk, rival) =>
  `${JSON.stringify(text)}: risk ${risk.toFixed(3)}${rival === undefined ? '' : `, its rival ${JSON.stringify(rival)}`}`;
