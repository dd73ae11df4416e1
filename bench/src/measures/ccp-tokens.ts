import type { TokenScore } from 'flinch';
import type { Tokenizer } from 'flinch/internals';
import {
  type Alternative,
  alternativesOf,
  combineRelations,
  isFunctional,
  logCcp,
  type Relation,
  wordOf,
} from '../baselines/ccp.js';
import { isFunctionalByRules, relateByRules } from '../baselines/ccp-rules.js';
import type { Encoders, TextPair } from '../encoder/encoders.js';

/** The alternatives of each token with their texts, the token itself first. */
export function alternatives(
  tokens: readonly TokenScore[],
  tokenizer: Pick<Tokenizer, 'tokenBytes'>,
): Alternative[][] {
  const texts = new Map<number, string>();
  const textOf = (id: number): string => {
    const text = texts.get(id) ?? new TextDecoder().decode(tokenizer.tokenBytes(id));
    texts.set(id, text);
    return text;
  };
  return tokens.map(({ id, logprob, top = [] }) =>
    alternativesOf({ id, logprob }, top).map((token) => ({ ...token, text: textOf(token.id) })),
  );
}

/** log CCP of each token, by rules. @param texts of the tokens that are there */
export function ccpByRules(choices: readonly (readonly Alternative[])[], texts: readonly string[]): number[] {
  return choices.map((alternatives, i) => {
    const { text } = alternatives[0]!;
    if (isFunctionalByRules(text)) return 0;
    const relations = alternatives.map((other) => relateByRules(text, other.text, texts[i - 1] ?? ''));
    return logCcpOf(alternatives, relations);
  });
}

/**
 * log CCP of each token, by a model that is asked about each pair of words once, both ways. Alternatives of the same
 * word are not asked about: they entail it; those that are empty without punctuation say nothing.
 */
export async function ccpByModel(
  choices: readonly (readonly Alternative[])[],
  relate: NonNullable<Encoders['relate']>,
): Promise<number[]> {
  const words = choices.map((alternatives) => alternatives.map(({ text }) => wordOf(text)));
  const pairs = new Map<string, TextPair>();
  for (const [first = '', ...others] of words) {
    if (isFunctional(first)) continue;
    for (const other of others) {
      if (known(first, other)) continue;
      for (const pair of [
        [first, other],
        [other, first],
      ] as const)
        pairs.set(JSON.stringify(pair), pair);
    }
  }
  const answers = await relate([...pairs.values()]);
  const relations = new Map([...pairs.keys()].map((key, i) => [key, answers[i]!]));
  const relation = (a: string, b: string): Relation => relations.get(JSON.stringify([a, b]))!;
  return choices.map((alternatives, i) => {
    const [first = ''] = words[i]!;
    if (isFunctional(first)) return 0;
    const found = words[i]!.map(
      (other) => known(first, other) ?? combineRelations(relation(first, other), relation(other, first)),
    );
    return logCcpOf(alternatives, found);
  });
}

/** Relations that need no model. */
function known(first: string, other: string): Relation | null {
  if (other === '') return 'neutral';
  return other.toLowerCase() === first.toLowerCase() ? 'entail' : null;
}

const logCcpOf = (alternatives: readonly Alternative[], relations: readonly Relation[]): number =>
  logCcp(
    alternatives.map(({ logprob }) => logprob),
    relations,
  );
