import { describe, expect, it } from 'vitest';
import { claimUncertainty } from '#bench/baselines/claim-graph.js';
import { JudgeError } from '#bench/judge/endpoint.js';
import { buildClaimGraph } from '#bench/judge/judged-graph.js';
import { type JudgeReply, useEndpoint } from '../../support/judge-server.js';

const OWN = ['Ada was born in London.', 'Ada was a poet.'];
const RESPONSES = [
  'Ada, a poet, was born in London.',
  'Ada of London wrote programs.',
  'She wrote programs.',
];

/** What each text states, and whether it supports a claim: by a word of it. */
const STATED: Record<string, string[]> = {
  [RESPONSES[1]!]: ['Ada came from London.', 'Ada wrote programs.', 'Ada wrote programs.'],
  [RESPONSES[2]!]: ['Ada wrote programs.'],
};
const WORD: Record<string, string> = {
  [OWN[0]!]: 'London',
  [OWN[1]!]: 'poet',
  'Ada wrote programs.': 'programs',
};
const part = (prompt: string, name: string): string =>
  new RegExp(`<${name}>\\n(.*)\\n</${name}>`, 's').exec(prompt)?.[1] ?? '';

function honest(prompt: string): string {
  const text = part(prompt, 'text');
  const claim = part(prompt, 'claim');
  if (claim !== '') return JSON.stringify({ supported: text.includes(WORD[claim]!) });
  if (text !== '') return `Here they are: ${JSON.stringify({ claims: STATED[text] })}`;
  // "came from London" says what is known.
  return part(prompt, 'others').startsWith('1. Ada came') ? '{"new": [2]}' : '{"new": [1]}';
}

async function build(answer: (prompt: string) => JudgeReply, responses: readonly string[] = RESPONSES) {
  const { endpoint, ...asked } = await useEndpoint(answer);
  return { ...asked, graph: () => buildClaimGraph(endpoint, OWN, responses) };
}

describe('buildClaimGraph', () => {
  it('joins the claims of all responses, and asks which response supports which', async () => {
    const { graph, prompts } = await build(honest);
    const built = await graph();
    expect(built).toEqual({
      claims: [
        { claim: OWN[0], response: 0 },
        { claim: OWN[1], response: 0 },
        { claim: 'Ada wrote programs.', response: 1 },
      ],
      edges: [
        [true, true, false],
        [true, false, true],
        [false, false, true],
      ],
      unreadable: 0,
    });
    // A path from "a poet" to the last response: 5 others at 1, 2, 3, 4, 5, or from "London" at 1, 1, 2, 2, 3.
    const statedBy = built.claims.map(({ response }) => response);
    expect(claimUncertainty({ statedBy, edges: built.edges, scored: [0, 1] }, 2)).toEqual([
      expect.closeTo(-5 / 9, 12),
      expect.closeTo(-5 / 15, 12),
    ]);
    // Two decompositions, one list of new claims (the last response has none), 3 × 3 comparisons.
    expect(prompts()).toHaveLength(12);
    expect(part(prompts()[1]!, 'known')).toBe(`1. ${OWN[0]}\n2. ${OWN[1]}`);
    expect(part(prompts()[1]!, 'others')).toBe('1. Ada came from London.\n2. Ada wrote programs.');
  });

  it('asks nothing twice', async () => {
    const { graph, requests } = await build(honest, [RESPONSES[0]!, RESPONSES[2]!, RESPONSES[2]!]);
    const built = await graph();
    expect(built.edges[1]).toEqual(built.edges[2]);
    expect(requests).toHaveLength(2 + 6);
    expect(await graph()).toEqual(built);
    expect(requests).toHaveLength(2 + 6);
  });

  it('does not ask about a response without text, which supports nothing', async () => {
    const { graph, prompts } = await build(honest, [RESPONSES[0]!, ' ']);
    expect(await graph()).toMatchObject({
      edges: [
        [true, true],
        [false, false],
      ],
      unreadable: 0,
    });
    expect(prompts()).toHaveLength(2);
  });

  it('asks again where an answer is not what was asked for, then adds no claim and no edge', async () => {
    const { graph, prompts } = await build((prompt) => {
      // A number beyond the list, and a word instead of an object.
      if (prompt.includes('<others>')) return '{"new": [1, 3]}';
      if (part(prompt, 'claim') === OWN[1] && part(prompt, 'text') === RESPONSES[0]) return 'Yes';
      return honest(prompt);
    });
    const { claims, edges, unreadable } = await graph();
    expect(claims.map(({ claim }) => claim)).toEqual(OWN);
    expect(edges).toEqual([
      [true, false],
      [true, false],
      [false, false],
    ]);
    // Both lists of new claims, and one comparison: each three times.
    expect(unreadable).toBe(3);
    expect(prompts().filter((prompt) => prompt.includes('<others>'))).toHaveLength(6);
    expect(prompts()).toHaveLength(2 + 6 + 5 + 3);
  });

  it('refuses a judge of which nothing can be read, or that is not there', async () => {
    const nonsense = await build(() => 'As a language model I cannot say.');
    await expect(nonsense.graph()).rejects.toThrow(JudgeError);
    await expect(nonsense.graph()).rejects.toThrow(/none of its answers on which response supports/);
    const gone = await build(() => ({ status: 500 }));
    await expect(gone.graph()).rejects.toThrow(/^judge judge at http.*500/);
  });
});
