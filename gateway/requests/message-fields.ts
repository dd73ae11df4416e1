import { z } from 'zod';
import { upTo } from '../../src/files/limited-list.js';
import { unsupported } from './unsupported.js';

const MAX_MESSAGES = 1000;
const MAX_PARTS = 1000;

const partText = z.strictObject({ type: z.literal('text'), text: z.string() });
const text = z.preprocess(
  upTo(MAX_PARTS, partText),
  z.union(
    [
      z.string(),
      z
        .array(partText)
        .max(MAX_PARTS)
        .transform((parts) => parts.map((each) => each.text).join('')),
    ],
    { error: `must be a string or a list of at most ${MAX_PARTS} text parts` },
  ),
);

const textMessage = z.strictObject({
  role: z
    .enum(['system', 'developer', 'user', 'assistant'])
    .transform((role) => (role === 'developer' ? ('system' as const) : role)),
  content: text,
  name: z.string().nullish(),
  // Further fields of a response's own message, which may be sent back as it came.
  refusal: unsupported(),
  audio: unsupported(),
  annotations: unsupported([]),
  tool_calls: unsupported([]),
  function_call: unsupported(),
});

/** A conversation of text alone. Parts of a text are joined; `developer` is `system`. */
export const textMessages = z.preprocess(
  upTo(MAX_MESSAGES, textMessage),
  z.array(textMessage).min(1).max(MAX_MESSAGES),
);

const theirs = z.unknown().optional().describe("As in OpenAI's API; an upstream judges it.");

export const messagePart = z.looseObject({
  type: z.string(),
  text: theirs,
  image_url: theirs,
  input_audio: theirs,
  file: theirs,
});
export const message = z.looseObject({
  role: z.string(),
  content: z
    .preprocess(
      upTo(MAX_PARTS, messagePart),
      z.union([z.string(), z.array(messagePart).max(MAX_PARTS)], {
        error: `must be a string or a list of at most ${MAX_PARTS} parts`,
      }),
    )
    .nullish(),
  name: theirs,
  tool_calls: theirs,
  tool_call_id: theirs,
});

/** The conversation so far, whatever a server takes as such. */
export const messages = z.preprocess(upTo(MAX_MESSAGES, message), z.array(message).min(1).max(MAX_MESSAGES));

export type Message = z.output<typeof message>;

/**
 * The text of a message, its parts joined.
 * @returns `null` if it has parts that are no text
 */
export function textOf({ content }: Message): string | null {
  if (typeof content === 'string') return content;
  const texts = (content ?? []).map(({ type, text }) => (type === 'text' ? text : null));
  return texts.every((each) => typeof each === 'string') ? texts.join('') : null;
}
