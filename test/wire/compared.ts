/** Fields of an answer that are flinch's own. */
const INTENDED: readonly string[] = ['id', 'created', 'model', 'flinch'];

/** An object as JSON has it, without flinch's own fields. */
export const plain = (value: object): unknown =>
  JSON.parse(
    JSON.stringify(Object.fromEntries(Object.entries(value).filter(([name]) => !INTENDED.includes(name)))),
  );

/** The same without fields that say nothing: flinch leaves them out of what it scores. */
export const told = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(told);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, each]) => [name, told(each)] as const);
  return Object.fromEntries(fields.filter(([name, each]) => says(each) && !varies(name, each)));
};

const says = (value: unknown): boolean =>
  value !== null && value !== '' && !(typeof value === 'object' && Object.keys(value).length === 0);

/** Times of a server, what its cache had, and ids of calls differ each time that it is asked; ids of tokens are left out. */
const varies = (name: string, value: unknown): boolean =>
  ['timings', 'cached_tokens'].includes(name) || (/id$/i.test(name) && typeof value !== 'object');

/** Streams that a client does not read as they were meant, and reads as such through flinch. */
export const MENDED: ReadonlySet<string> = new Set([
  'mistral-parts', // parts of a content, which are taken for texts
  'mistral-thinking-parts',
  'perplexity-cumulative', // a message beside the delta
  'two-choices', // taken for one
]);
