import { describe, expect, it } from 'vitest';
import { messageSchema } from '#redis/messages.js';

const read = {
  type: 'read',
  id: 'resp-1',
  owner: 'web',
  reader: { gateway: 'a', number: 1 },
  offset: 3,
  first: true,
};

describe('a message of another gateway', () => {
  it.each([
    read,
    { type: 'act', id: 'resp-1', reader: read.reader, action: 'cancel' },
    { type: 'lost', number: 1, code: 'taken_over' },
    { type: 'forget', owner: 'web', requestId: 'mine' },
  ])('may be $type', (message) => {
    expect(messageSchema.parse(message)).toEqual(message);
  });

  it.each([
    ['another type', { ...read, type: 'write' }],
    ['an offset before the first', { ...read, offset: -1 }],
    ['a further field', { ...read, text: 'x' }],
    ['a field that is missing', { ...read, reader: undefined }],
    ['another action', { type: 'act', id: 'resp-1', reader: read.reader, action: 'resume' }],
    ['another code', { type: 'lost', number: 1, code: 'internal_error' }],
    ['no object', 'read'],
  ])('may not have %s', (_what, message) => {
    expect(messageSchema.safeParse(message).success).toBe(false);
  });
});
