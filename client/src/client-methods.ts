// Written by `npm run schemas` from src/uncertainty/method-names.ts; changes are made there.

/** The uncertainty methods of tokens. */
export const METHODS = [
  'adversarial',
  'random',
  'tokur_eu',
  'tokur_tu',
  'tokur_au',
  'nll',
  'entropy',
  'margin',
] as const;
export type Method = (typeof METHODS)[number];

/** Methods that need only a token's distribution. */
export const PROBABILITY_METHODS = ['nll', 'entropy', 'margin'] as const;

/** Methods that are computed unless a request or the server says otherwise, as far as the model can. */
export const DEFAULT_METHODS = ['adversarial', 'nll', 'entropy', 'margin'] as const;
