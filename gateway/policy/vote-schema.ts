import parsePath from 'jsonpath-rfc9535/parser';
import { z } from 'zod';
import { reasonOf } from '../../src/files/errors.js';
import { isRecord } from '../../src/files/json.js';
import { linearRegex } from '../../src/guard/linear-regex.js';

/** A text that a parser accepts, which throws an error otherwise. */
const parsed = (parse: (text: string) => unknown) =>
  z
    .string()
    .min(1)
    .superRefine((text, context) => {
      try {
        parse(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: reasonOf(error) });
      }
    });

/** Times that a path may go through all of an answer for each of its values. */
const MOST_PASSES = 2;

/** @throws SyntaxError for what is no path, and for one that may take too long on an answer: the model writes the answer */
function checkPath(text: string): void {
  const nodes = [...nodesOf(parsePath(text))];
  const name = nodes.find(({ name }) => name === 'match' || name === 'search')?.name;
  if (name) throw new SyntaxError(`the function ${name} is not supported: it backtracks`);
  // The path itself begins at $, too.
  const passes =
    nodes.filter(({ type }) => type === 'DescendantSegment' || type === 'JsonPathQuery').length - 1;
  if (passes > MOST_PASSES)
    throw new SyntaxError(`has ${passes} of .. and of $ in filters together (at most ${MOST_PASSES})`);
}

function* nodesOf(node: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (isRecord(node)) yield node;
  if (typeof node === 'object' && node !== null) for (const part of Object.values(node)) yield* nodesOf(part);
}

export const voteSchema = z
  .strictObject({
    regex: parsed(linearRegex)
      .optional()
      .describe(
        'Regular expression of JavaScript, with the flag `u`, without lookaheads and back-references (RE2): the first group of its last match, or else all of that match. The last 32,768 characters of an answer are searched.',
      ),
    json_path: parsed(checkPath)
      .optional()
      .describe(
        'Path (RFC 9535) in answers that are JSON, also in a fenced block, with at most 2,000 names and values. `match` and `search` are not supported.',
      ),
    agreement: z
      .number()
      .gt(0)
      .max(1)
      .optional()
      .describe(
        'Share of the answers, of at least three, that ends a vote when they agree; without it, a vote ends once no further answer can change the winner.',
      ),
  })
  .refine(({ regex, json_path: path }) => regex === undefined || path === undefined, {
    error: 'regex is not possible with json_path',
  })
  .describe(
    'What an answer says, and when a vote ends, where the guard has `action: vote`; by default an answer says its last `\\boxed{}`, or else its last number, or else the words of its last line.',
  );

/** How it is found what an answer says, and when a vote ends. */
export type VoteConfig = z.output<typeof voteSchema>;
