import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { GLOSSARY } from '#web/glossary.js';

const concepts = readFileSync('docs/concepts.md', 'utf8');

it.each(GLOSSARY)('means the same by $word as docs/concepts.md', ({ word, meaning }) => {
  expect(concepts).toContain(`| **${word}** | ${meaning}`);
});
