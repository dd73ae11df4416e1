/** What the examples have in common: what they are asked, how they end, and how they show a token. */
import chalk from 'chalk';
import { z } from 'zod';

export const QUESTION = 'What is (82 - 16) * 9 - 54 + 59?';

/**
 * The address of the gateway, as people write it or copy it.
 * @param {string | undefined} given
 */
export function gatewayUrl(given = process.env.FLINCH_URL ?? '127.0.0.1:8787') {
  const url = given.includes('://') ? given : `http://${given}`;
  return url.replace(/\/+$/, '');
}

/** The arguments: which gateway, and what it is asked. */
export function readArguments() {
  const [url, question = QUESTION] = process.argv.slice(2);
  return { url: gatewayUrl(url), question };
}

/** Says in a line what went wrong. @param {unknown} error */
export function fail(error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

// Whoever reads us may have enough, as `head` has.
process.stdout.on('error', (error) => {
  if (!('code' in error) || error.code !== 'EPIPE') throw error;
  process.exit();
});

/** A token of a chat completion, as far as it is shown. It comes twice: with its text, and again with its scores. */
export const token = z.object({
  index: z.number(),
  text: z.string(),
  risk: z.object({ nll: z.number() }).optional(),
  rival: z.object({ text: z.string() }).optional(),
});

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
