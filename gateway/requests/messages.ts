import { z } from 'zod';
import { upTo } from './limited-list.js';
import { unsupported } from './unsupported.js';

const MAX_MESSAGES = 1000;
const MAX_PARTS = 1000;

const part = z.strictObject({ type: z.literal('text'), text: z.string() });
const text = z.preprocess(
  upTo(MAX_PARTS, part),
  z.union(
    [
      z.string(),
      z
        .array(part)
        .max(MAX_PARTS)
        .transform((parts) => parts.map((each) => each.text).join('')),
    ],
    { error: `must be a string or a list of at most ${MAX_PARTS} text parts` },
  ),
);

const message = z.strictObject({
  role: z
    .enum(['system', 'developer', 'user', 'assistant'])
    .transform((role) => (role === 'developer' ? ('system' as const) : role)),
  content: text,
  name: z.string().nullish(),
  // What a response's own message has beside these: it may be sent back as it came.
  refusal: unsupported(),
  audio: unsupported(),
  annotations: unsupported([]),
  tool_calls: unsupported([]),
  function_call: unsupported(),
});

/** The conversation so far. Parts of a text are joined; `developer` is `system`. */
export const messages = z.preprocess(upTo(MAX_MESSAGES, message), z.array(message).min(1).max(MAX_MESSAGES));
