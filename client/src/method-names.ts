/** The uncertainty methods of tokens; these lists are those of src/uncertainty/method-names.ts. */
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
