import { afterEach, describe, expect, it, vi } from 'vitest';
import { ScoreSequence } from '#src/engine/score-sequence.js';
import { DEFAULT_SCORING, type Scoring, SequenceScorer } from '#src/index.js';
import { sharedReasoner } from '../support/shared-engines.js';

const PROMPT = Array.from({ length: 60 }, (_, i) => 20 + ((7 * i) % 90));
const scoring: Scoring = {
  ...DEFAULT_SCORING,
  schedule: { kind: 'windowed', block: 4, window: 8 },
  methods: ['adversarial'],
};

afterEach(() => vi.restoreAllMocks());

describe('the text before the first window', () => {
  const opened = async () => {
    const read = vi.spyOn(ScoreSequence.prototype, 'read');
    const scorer = await SequenceScorer.open(await sharedReasoner(), PROMPT, scoring);
    return { read, scorer };
  };

  it('is read once the first token is there', async () => {
    const { read, scorer } = await opened();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(read).not.toHaveBeenCalled();
    await scorer.push([{ id: 30 }]);
    expect(read).toHaveBeenCalledTimes(1);
    const [{ newIds, end }] = read.mock.calls[0]!;
    expect(newIds).toEqual(PROMPT);
    expect(end).toBeGreaterThan(40);
    expect(end).toBeLessThan(PROMPT.length);
    expect(await scorer.push([{ id: 31 }, { id: 32 }, { id: 33 }])).toHaveLength(4);
    expect(read).toHaveBeenCalledTimes(1);
    scorer.close();
  });

  it('is read at once if that is asked for', async () => {
    const { read, scorer } = await opened();
    scorer.readAhead();
    await vi.waitFor(() => expect(read).toHaveBeenCalledTimes(1));
    expect(await scorer.push([{ id: 30 }, { id: 31 }, { id: 32 }, { id: 33 }])).toHaveLength(4);
    expect(read).toHaveBeenCalledTimes(1);
    scorer.close();
  });
});
