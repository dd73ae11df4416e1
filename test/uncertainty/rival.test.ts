import { expect, it } from 'vitest';
import { rivalOf } from '#src/uncertainty/methods.js';

const rivalAfter = (after: number) =>
  rivalOf({ adversary: { fall: 0.1, rival: { id: 7, before: 0.25, after } } });

it('is a token that grew, and never one that fell or stayed', () => {
  expect(rivalAfter(0.26)).toEqual({ id: 7, before: 0.25, after: 0.26 });
  expect(rivalAfter(0.25)).toBeNull();
  expect(rivalAfter(0.24)).toBeNull();
});

it('is none without an adversary', () => {
  expect(rivalOf({ adversary: null })).toBeNull();
});
