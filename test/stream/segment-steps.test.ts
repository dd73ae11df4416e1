import fc from 'fast-check';
import { from, lastValueFrom, type Observable, of, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  type GenerationEvent,
  type StepClosedEvent,
  type StepSpan,
  segmentSteps,
  segmentText,
  TokenSteps,
  type TokenStepsOptions,
} from '#src/index.js';
import { doneEvent, scoreEvent, tokenEvent } from '../support/events.js';
import { shortProse, tokensOf } from '../support/prose.js';

const tokenEvents = (texts: readonly string[], first = 0) =>
  texts.map((text, i) => tokenEvent(first + i, { text }));

const collect = (source: Observable<GenerationEvent>, options?: TokenStepsOptions) =>
  lastValueFrom(source.pipe(segmentSteps(options), toArray()));

const closedOf = (events: readonly (GenerationEvent | StepClosedEvent)[]) =>
  events.filter((event) => event.type === 'step.closed');

async function spans(
  texts: readonly string[],
  options?: TokenStepsOptions,
): Promise<(readonly [number, number, string])[]> {
  const first = options?.from ?? 0;
  const events = await collect(from(tokenEvents(texts, first)), options);
  return closedOf(events).map((step) => [step.from, step.to, step.text]);
}

describe('segmentSteps', () => {
  it('closes a step when the text shows that it has ended, and the last one before the end', async () => {
    const tokens = tokenEvents(['It', ' is', '.\n', 'So', ' it', ' is']);
    const events = await collect(of(...tokens.slice(0, 5), scoreEvent(0, {}), tokens[5]!, doneEvent()));
    expect(events.map(({ type }) => type)).toEqual([
      ...['token.delta', 'token.delta', 'token.delta', 'token.delta', 'token.delta'],
      ...['step.closed', 'score.delta', 'token.delta', 'step.closed', 'generation.done'],
    ]);
    expect(closedOf(events)).toEqual([
      { type: 'step.closed', step: 0, from: 0, to: 3, text: 'It is.\n' },
      { type: 'step.closed', step: 1, from: 3, to: 6, text: 'So it is' },
    ]);
  });

  it('ends a step where a part of the answer ends, and has one step for each tool call', async () => {
    const parts = [
      tokenEvent(0, { text: 'So', part: 'reasoning' }),
      tokenEvent(1, { text: ' it is.\n', part: 'reasoning' }),
      tokenEvent(2, { text: 'Hmm', part: 'reasoning' }),
      tokenEvent(3, { text: 'So it' }),
      tokenEvent(4, { text: ' is.\n' }),
      tokenEvent(5, { text: '{"a": "One.\n', part: 'tool_calls', call: 0 }),
      tokenEvent(6, { text: 'Two.\n"}', part: 'tool_calls', call: 0 }),
      tokenEvent(7, { text: '{}', part: 'tool_calls', call: 1 }),
      tokenEvent(8, { text: 'Done' }),
    ];
    const steps = closedOf(await collect(of(...parts, doneEvent())));
    expect(steps.map(({ type: _, ...step }) => step)).toEqual([
      { step: 0, from: 0, to: 2, text: 'So it is.\n', part: 'reasoning' },
      { step: 1, from: 2, to: 3, text: 'Hmm', part: 'reasoning' },
      { step: 2, from: 3, to: 5, text: 'So it is.\n' },
      { step: 3, from: 5, to: 7, text: '{"a": "One.\nTwo.\n"}', part: 'tool_calls' },
      { step: 4, from: 7, to: 8, text: '{}', part: 'tool_calls' },
      { step: 5, from: 8, to: 9, text: 'Done' },
    ]);
  });

  // The tokens of each step, and its text if that is another than theirs.
  it.each<[rule: string, steps: string[][], texts?: string[]]>([
    ['no token', []],
    ['white tokens go with the step before', [['One.', '\n', '\n'], ['Two']]],
    ['leading ones with the first step', [['\n', ' ', 'One.', '\n'], ['Two']]],
    ['a text of nothing else is a step', [['\n', ' ']]],
    ['white space before a character', [['One.'], ['\nTwo', ' is']], ['One.\n', 'Two is']],
    [
      'a token that begins in one step and goes on in the next',
      [['One', '. Two', ' '], ['is']],
      ['One. ', 'Two is'],
    ],
    ['a step within a token', [['One', '. Two. Thr'], ['ee']], ['One. ', 'Two. Three']],
    ['steps within the last token', [['One', '. Two. Three']]],
    ['bytes of a character go where it goes', [['One.\n'], ['', '', '😀', ' is it']]],
    ['but not into what follows white space', [['One.', ''], ['\nTwo is']], ['One.\n', 'Two is']],
    ['empty tokens at the end', [['One.\n'], ['Two', '']]],
  ])('%s', async (_, steps, texts = steps.map((tokens) => tokens.join(''))) => {
    const found = await spans(steps.flat());
    expect(found.map(([from, to]) => steps.flat().slice(from, to))).toEqual(steps);
    expect(found.map(([, , text]) => text)).toEqual(texts);
  });

  it('gives every token to one step, and to each the text of its own', () => {
    return fc.assert(
      fc.asyncProperty(tokensOf(shortProse), async (tokens) => {
        const steps = closedOf(await collect(from([...tokenEvents(tokens), doneEvent()])));
        expect(steps.map(({ step }) => step)).toEqual(steps.map((_, i) => i));
        expect([0, ...steps.map(({ to }) => to)]).toEqual([...steps.map(({ from }) => from), tokens.length]);
        for (const { from, to } of steps) expect(to).toBeGreaterThan(from);
        expect(steps.map(({ text }) => text).join('')).toBe(tokens.join(''));
      }),
    );
  });

  it('finds the steps of the text where each has a token that begins in it', () => {
    fc.assert(
      fc.property(shortProse, (text) => {
        const tokens = [...text];
        const steps = new TokenSteps();
        const found: StepSpan[] = [...tokens.flatMap((token) => steps.push(token)), ...steps.end()];
        expect(found.map((step) => step.text)).toEqual(segmentText(text).map((step) => step.text));
      }),
    );
  });

  it('puts a token into the step that holds its first character, whatever the tokens', () => {
    fc.assert(
      fc.property(tokensOf(shortProse), (tokens) => {
        const steps = new TokenSteps();
        const found = [...tokens.flatMap((token) => steps.push(token)), ...steps.end()];
        const whole = segmentText(tokens.join(''));
        let offset = 0;
        const owners = tokens.map((text) => {
          const at = offset + text.search(/\S/);
          offset += text.length;
          return text.trim() === '' ? -1 : whole.findIndex(({ start, end }) => start <= at && at < end);
        });
        for (const { from, to } of found) {
          const own = new Set(owners.slice(from, to).filter((owner) => owner >= 0));
          expect(own.size).toBeLessThanOrEqual(1);
        }
        const distinct = new Set(owners.filter((owner) => owner >= 0)).size;
        expect(found).toHaveLength(Math.max(distinct, Math.min(1, tokens.length)));
      }),
    );
  });

  it('goes on from the start of a step', async () => {
    const tokens = ['One', '.\n', 'Two', ' is', ' it', '.\n', 'Three'];
    const whole = closedOf(await collect(from(tokenEvents(tokens))));
    const fromStep = await collect(from(tokenEvents(tokens.slice(2), 2)), { from: 2, step: 1 });
    expect(closedOf(fromStep)).toEqual(whole.slice(1));
  });

  it('splits paragraphs where asked', async () => {
    const steps = await spans(['One. ', 'Two.\n\n', 'Three'], { mode: 'paragraph' });
    expect(steps).toEqual([
      [0, 2, 'One. Two.\n\n'],
      [2, 3, 'Three'],
    ]);
  });

  it('errors when a token is missing', async () => {
    const gap = from([tokenEvent(0), tokenEvent(2)]);
    await expect(collect(gap)).rejects.toThrow('token 2 comes instead of 1');
  });
});
