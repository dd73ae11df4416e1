import { DEFAULT_METHODS, METHODS, PROBABILITY_METHODS } from '../../src/uncertainty/method-names.js';

/** First line of a generated file. */
export const head = (source: string): string =>
  `// Written by \`npm run schemas\` from ${source}; changes are made there.\n`;

/** client/src/client-methods.ts, which the client's schemas read: it is written before they are loaded. */
export const methodList = (): string => `${head('src/uncertainty/method-names.ts')}
/** The uncertainty methods of tokens. */
export const METHODS = [
${lines(METHODS)}] as const;
export type Method = (typeof METHODS)[number];

/** Methods that need only a token's distribution. */
export const PROBABILITY_METHODS = [${namesOf(PROBABILITY_METHODS)}] as const;

/** Methods that are computed unless a request or the server says otherwise, as far as the model can. */
export const DEFAULT_METHODS = [${namesOf(DEFAULT_METHODS)}] as const;
`;

const namesOf = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');
const lines = (names: readonly string[]): string => names.map((name) => `  '${name}',\n`).join('');
