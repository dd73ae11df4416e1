import { describe, expect, it } from 'vitest';
import { lexicalEmbeddings } from '#bench/baselines/lexical.js';
import { graphUncertainty } from '#bench/baselines/response-graph.js';
import { responseSchema, sampleSchema, scoreSchema } from '#bench/records/records.js';
import { stepMode } from '#bench/run/run-context.js';
import { segmentText } from '#src/index.js';
import { useBenchRuns } from '../../support/bench-runs.js';

const { run, records } = useBenchRuns('--suite', 'tasks', '--limit', '4', '--seed', '7');
const MEASURE = 'graph-lexical:samples=2';

describe('Graph Uncertainty in a run', () => {
  it('cuts further responses as it cuts the one that it scores', async () => {
    const { code, stderr } = await run(
      ...['graph', '--temperature', '0.5', '--measures', MEASURE, '--score', 'all'],
    );
    expect([code, stderr]).toEqual([0, '']);
    const responses = records('graph', 'responses', responseSchema);
    const samples = records('graph', 'samples', sampleSchema);
    const scores = records('graph', 'scores', scoreSchema);
    expect(scores).toHaveLength(4);
    for (const { id, stepScores } of scores) {
      const own = responses.find((response) => response.id === id)!.tokenTexts.join('');
      const others = samples
        .filter((sample) => sample.id === id)
        .sort((a, b) => a.sample - b.sample)
        .map(({ text }) => text);
      const steps = [own, ...others].map((text) => segmentText(text, 'sentence').map((step) => step.text));
      expect(Math.min(...steps.map(({ length }) => length))).toBeGreaterThan(1);
      const embeddings = lexicalEmbeddings(steps.flat().map((text) => text.trim()));
      const expected = graphUncertainty(steps.map((step) => step.map(() => embeddings.shift()!)));
      expect(stepScores[MEASURE]).toEqual(expected.map((score) => expect.closeTo(score, 8)));
    }
  });

  it('takes paragraphs only for responses that came in steps', () => {
    const given = { generator: 'x', steps: ['a'], firstWrong: null, finalAnswerCorrect: true };
    expect(stepMode({ given })).toBe('paragraph');
    expect(stepMode({ given: null })).toBe('sentence');
  });
});
