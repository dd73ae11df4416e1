import { expect, it } from 'vitest';
import { z } from 'zod';
import { parseJsonLines } from '#src/files/json-text.js';

it('reads a byte order mark, line ends of Windows, and separators of lines within strings', () => {
  const text = '\ufeff{"a":"1\u2028\u2029\u0085"}\r\n\r\n{"a":"2"}';
  expect(parseJsonLines(text, z.object({ a: z.string() }))).toEqual([
    { a: '1\u2028\u2029\u0085' },
    { a: '2' },
  ]);
});
