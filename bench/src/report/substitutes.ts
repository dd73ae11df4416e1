/** Light stand-ins for methods that ask other models: for which method, and what they are. */
export const SUBSTITUTES: ReadonlyMap<string, { readonly method: string; readonly words: string }> = new Map([
  ['ccp-rules', { method: 'ccp', words: 'a light substitute: word rules instead of an inference model' }],
  [
    'token_sar-lexical',
    { method: 'token_sar', words: 'a light substitute: word overlap instead of a cross-encoder' },
  ],
  [
    'graph-lexical',
    { method: 'graph', words: 'a light substitute: word overlap instead of sentence embeddings' },
  ],
]);
