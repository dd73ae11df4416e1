import { expect, it } from 'vitest';
import { PartAligner, StepAligner } from '#src/steps/step-aligner.js';
import type { PartOf } from '#src/steps/text-part.js';

it('lets a step begin where a part does, and none within a tool call', () => {
  const tokens: [text: string, token: PartOf, begins: boolean][] = [
    ['Hm', { part: 'reasoning' }, true],
    [' so', { part: 'reasoning' }, false],
    ['.\n', { part: 'reasoning' }, false],
    ['It', { part: 'reasoning' }, true],
    [' is', {}, true],
    ['.\n', {}, false],
    ['{"a":"One.\n', { part: 'tool_calls', call: 0 }, true],
    ['Two"}', { part: 'tool_calls', call: 0 }, false],
    ['{}', { part: 'tool_calls', call: 1 }, true],
  ];
  const aligner = new PartAligner();
  expect(tokens.map(([text, token]) => aligner.begins(text, token))).toEqual(
    tokens.map(([, , begins]) => begins),
  );
});

it('is a StepAligner for a text', () => {
  const [parts, steps] = [new PartAligner(), new StepAligner()];
  for (const text of ['It', ' is', ' so', '.', ' The', ' rest\n', '', 'é']) {
    expect(parts.begins(text, {})).toBe(steps.begins(text));
  }
});
