import { describe, expect, it } from 'vitest';
import { alignWords, judgeSupport, splitClaims } from '#bench/judge/judged-claims.js';
import { useEndpoint } from '../../support/judge-server.js';

const TEXT = 'Ada Lovelace was born in London. She wrote the first program, and I like her.';

const sentenceOf = (prompt: string): string => /<sentence>\n(.*)\n<\/sentence>/s.exec(prompt)![1]!;

describe('splitClaims', () => {
  it('breaks a text down sentence by sentence, and says where the words of each statement are', async () => {
    const answers: Record<string, unknown> = {
      'Ada Lovelace was born in London.': [
        { claim: 'Ada Lovelace was born.', words: ['Ada', 'Lovelace', 'was', 'born'] },
        { claim: 'Ada Lovelace was born in London.', words: ['born', 'London'] },
      ],
      'She wrote the first program, and I like her.': [
        { claim: 'Ada Lovelace wrote the first program.', words: [] },
      ],
    };
    const { endpoint } = await useEndpoint((prompt) =>
      JSON.stringify({ claims: answers[sentenceOf(prompt)] }),
    );
    const claims = await splitClaims(endpoint, TEXT);
    expect(claims!.map(({ claim, spans }) => [claim, spans.map((span) => TEXT.slice(...span))])).toEqual([
      ['Ada Lovelace was born.', ['Ada', 'Lovelace', 'was', 'born']],
      ['Ada Lovelace was born in London.', ['born', 'London']],
      ['Ada Lovelace wrote the first program.', ['She wrote the first program, and I like her.']],
    ]);
  });

  it('has nothing to say where a sentence cannot be read', async () => {
    const { endpoint } = await useEndpoint((prompt) =>
      sentenceOf(prompt).startsWith('Ada') ? '{"claims": []}' : '?',
    );
    expect(await splitClaims(endpoint, TEXT)).toBeNull();
  });
});

describe('alignWords', () => {
  const at = (words: readonly string[], sentence: string) =>
    alignWords(words, sentence).map(([start]) => start);

  it('matches in order, whole words, in whatever case', () => {
    expect(at(['the', 'cat', 'the', 'mat'], 'The cat sat on the mat')).toEqual([0, 4, 15, 19]);
    expect(at(['art'], 'part of art')).toEqual([8]);
    expect(at(['cat sat', 'MAT'], 'The cat sat on the mat')).toEqual([4, 8, 19]);
  });

  it('leaves out what is not there, or only before', () => {
    expect(at(['dog', 'mat', 'cat'], 'The cat sat on the mat')).toEqual([19]);
    expect(at(['', ' '], 'x')).toEqual([]);
  });
});

describe('judgeSupport', () => {
  it('asks with passages, or for what the judge knows', async () => {
    const { endpoint, prompts } = await useEndpoint((prompt) =>
      prompt.includes('<passage>') ? '{"supported": true}' : '{"supported": null}',
    );
    expect(await judgeSupport(endpoint, 'Ada Lovelace', 'She was born in London.', ['Born in London.'])).toBe(
      true,
    );
    expect(await judgeSupport(endpoint, 'Ada Lovelace', 'She was great.')).toBeNull();
    expect(prompts()[0]).toContain('Born in London.');
  });
});
