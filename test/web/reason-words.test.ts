import { describe, expect, it } from 'vitest';
import type { Rollback } from '#client/answer.js';
import { flaggedSteps } from '#web/answer/queries.js';
import { rollbackWords, whyWords } from '#web/answer/reason-words.js';
import {
  created,
  flagged,
  numbered,
  play,
  rolledBack,
  score,
  settled,
  token,
} from '../client/fake-server.js';

const RIVALS = [
  { id: 101, text: '46', logprob: Math.log(0.55) },
  { id: 7, text: '45', logprob: Math.log(0.44) },
];

/** Why the step of “So 46” is flagged. @param changes of its second token */
function why(changes: object, scored: object = {}): string | null {
  const tokens = [token(0, 'So'), token(1, ' 46', { logprob: Math.log(0.55), ...changes })];
  const scores = [score(0, 0.1), score(1, 2, scored)];
  const answer = play(numbered([created(), ...tokens, ...scores, flagged(), settled()]));
  return whyWords(answer, flaggedSteps(answer)[0]!);
}

describe('why a step is flagged, in words', () => {
  it('names its doubtful token and the one that nearly took its place', () => {
    expect(why({ top_logprobs: RIVALS })).toBe('after “So”, “46” had 55 %, “45” had 44 %.');
    expect(why({ top_logprobs: RIVALS.toReversed() })).toContain('“46” had 55 %, “45” had 44 %');
    const unlikely = { ...RIVALS[1]!, logprob: -9 };
    expect(why({ top_logprobs: [RIVALS[0], unlikely] })).toContain('“45” had less than 1 %');
  });

  it('takes the rival of Adv. Pert. where there are no alternatives, and no rival where there is none', () => {
    const rival = { id: 7, text: ' 45', before: 0.3, after: 0.4 };
    expect(why({}, { rival })).toBe('after “So”, “46” had 55 %, “45” had 30 %.');
    expect(why({})).toBe('after “So”, “46” had 55 %.');
  });

  it('claims no doubt about a token that was sure, nor without a probability', () => {
    expect(why({ logprob: Math.log(0.97), top_logprobs: RIVALS })).toBe(
      'no single token stands out; several were a little unusual.',
    );
    expect(why({ logprob: null })).toBeNull();
  });

  it('keeps the end of a long step before the token', () => {
    const events = [token(0, 'The price of the shirt after the reduction of it is'), token(1, ' 46')];
    const answer = play(numbered([created(), ...events, score(1, 2), settled()]));
    expect(whyWords(answer, flaggedSteps(answer)[0]!)).toMatch(
      /^after “…the reduction of it is”, “46” had 61 %/,
    );
  });
});

describe('what came of sampling a step again, in words', () => {
  const [rollback] = play(rolledBack()).rollbacks;
  const [flaggedOne, other, taken] = rollback!.candidates;
  it.each<[Partial<Rollback>, string]>([
    [{ outcome: null }, 'Sampling 2 others…'],
    [{}, 'Sampled 2 others and took one of them.'],
    [
      { candidates: [flaggedOne!, taken!, taken!] },
      'Sampled 2 others and took one of them: 1 more of them reads the same.',
    ],
    [
      { outcome: 'kept', chosen: 0, candidates: [other!, other!, other!] },
      'Sampled 2 others and kept this one: 2 of them read the same.',
    ],
  ])('%j', (changes, words) => {
    expect(rollbackWords({ ...rollback!, ...changes })).toBe(words);
  });
});
