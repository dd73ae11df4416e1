import { describe, expect, it } from 'vitest';
import { Ledger } from '#bench/result-log.js';
import type { Completer, CompletionRequest } from '#bench/rollouts/completer.js';
import {
  labelByRollouts,
  type RolloutCase,
  type RolloutLabel,
  rolloutKey,
} from '#bench/rollouts/label-by-rollouts.js';
import { drawnSchema } from '#bench/run/run-folder.js';
import { problemOf } from '../../support/bench-records.js';
import { jsonLines, useFolder } from '../../support/cli.js';

const folder = useFolder();

const STEPS = ['Two and two is four. ', 'Four and one is six. ', 'So it is six.'];
const CASE: RolloutCase = {
  problem: problemOf('p', { question: 'What is 2 + 2 + 1?', reference: '5' }),
  beginnings: STEPS.map((_, i) => ({ text: STEPS.slice(0, i).join(''), maxTokens: 10 })),
  isRight: (response) => response.endsWith('5'),
};

/** Reaches the answer with the second completion of a prefix, unless the prefix says six. */
function completer(most = Number.POSITIVE_INFINITY) {
  const asked: CompletionRequest[] = [];
  const drawn = new Map<string, number>();
  const complete: Completer['complete'] = async (request) => {
    if (asked.length === most) throw new Error('the power went out');
    asked.push(request);
    const { text } = request.beginning;
    const before = drawn.get(text) ?? 0;
    drawn.set(text, before + 1);
    const finish = 'stop' as const;
    return { text: before === 1 && !text.includes('six') ? 'So it is 5' : 'So it is 4', tokens: 3, finish };
  };
  return { asked, complete, close: () => {} } satisfies Completer & { asked: unknown };
}

async function label(file: string, by: Completer, rollouts = 3): Promise<RolloutLabel> {
  const known = await Ledger.open(folder.path(file), drawnSchema, rolloutKey);
  const { signal } = new AbortController();
  const rule = { rollouts, temperature: 1, topP: 1, seed: 1 };
  return labelByRollouts(CASE, { ...rule, completer: by, known, signal });
}

const places = (file: string) =>
  jsonLines(folder.read(file)).map(({ prefix, sample }) => `${prefix} ${sample}`);

describe('labels by rollouts', () => {
  it('draw no more completions than decide, with a seed each', async () => {
    const own = completer();
    expect(await label('whole', own)).toEqual({
      step: 1,
      rollouts: {
        rollouts: 3,
        tokens: 21,
        prefixes: [
          { drawn: 2, reached: 1 },
          { drawn: 2, reached: 1 },
          { drawn: 3, reached: 0 },
        ],
      },
    });
    expect(places('whole')).toEqual(['0 0', '0 1', '1 0', '1 1', '2 0', '2 1', '2 2']);
    expect(new Set(own.asked.map(({ seed }) => seed)).size).toBe(7);
    expect(own.asked[6]!.beginning.text).toBe('Two and two is four. Four and one is six. ');
  });

  it('go on where they were, with the same draws, and draw none twice', async () => {
    const whole = completer();
    const expected = await label('uninterrupted', whole);
    const [broken, rest] = [completer(3), completer()];
    await expect(label('broken', broken)).rejects.toThrow('the power went out');
    expect(places('broken')).toHaveLength(3);
    // The completer counts anew: the draw that is left after the first step is its first one.
    rest.complete({ ...whole.asked[2]! }, new AbortController().signal);
    rest.asked.length = 0;
    expect(await label('broken', rest)).toEqual(expected);
    expect(places('broken')).toEqual(places('uninterrupted'));
    expect([...broken.asked, ...rest.asked].map(({ seed }) => seed)).toEqual(
      whole.asked.map(({ seed }) => seed),
    );
    const finished = completer(0);
    expect(await label('broken', finished)).toEqual(expected);
  });

  it('are missing where the prompt never leads to the answer', async () => {
    const { step, rollouts } = await label('one', completer(), 1);
    expect([step, rollouts.prefixes]).toEqual([null, [{ drawn: 1, reached: 0 }]]);
  });

  it('do not count a completion that was cut off', async () => {
    const cut: Completer = {
      ...completer(),
      complete: async () => ({ text: 'So it is 5', tokens: 3, finish: 'length' }),
    };
    expect((await label('cut', cut)).step).toBeNull();
  });
});
