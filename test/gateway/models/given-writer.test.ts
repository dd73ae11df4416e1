import { lastValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { GivenWriter } from '#gateway/models/given-writer.js';
import { GivenText } from '#gateway/requests/given-text.js';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { FlowGate } from '#src/stream/flow-gate.js';
import { checkpointFolder } from '../../support/golden.js';

const { tokenizer } = await openCheckpoint(checkpointFolder('tiny-llama'));
const TEXT = 'We start: 12 + 30 = 42. é😀\n';

const writerOf = (text: string, room = 1000) =>
  new GivenWriter({ text: GivenText.whole(text), tokenizer, promptTokens: 3, room });
const eventsOf = (writer: GivenWriter) => lastValueFrom(writer.tokens(new FlowGate()).pipe(toArray()));

describe('GivenWriter', () => {
  it('writes the tokens of the text, and its end', async () => {
    const events = await eventsOf(writerOf(TEXT));
    const tokens = events.flatMap((event) => (event.type === 'token.delta' ? [event] : []));
    expect(tokens.map(({ id }) => id)).toEqual(tokenizer.encodePlain(TEXT));
    expect(tokens.map(({ text }) => text).join('')).toBe(TEXT);
    expect(events.at(-1)).toEqual({
      type: 'generation.done',
      finishReason: 'stop',
      usage: { promptTokens: 3, completionTokens: tokens.length },
    });
  });

  it('waits for the gate', async () => {
    const gate = new FlowGate();
    const release = gate.hold();
    let written = 0;
    const all = lastValueFrom(writerOf(TEXT).tokens(gate));
    writerOf(TEXT)
      .tokens(gate)
      .subscribe(() => {
        written += 1;
      });
    await new Promise(setImmediate);
    expect(written).toBe(0);
    release();
    expect(await all).toMatchObject({ type: 'generation.done' });
  });

  it.each([
    ['more tokens than there is room for', '1 '.repeat(20), 'context_length_exceeded'],
    ['a word that would hold up the process', 'a'.repeat(20_000), 'invalid_value'],
  ])('fails for %s', async (_, text, code) => {
    await expect(eventsOf(writerOf(text, text.length / 2))).rejects.toMatchObject({
      status: 400,
      body: { code, param: 'text' },
    });
  });

  it('is not continued otherwise', async () => {
    const writer = writerOf(TEXT);
    expect(writer.fits()).toBe(false);
    await expect(writer.fork()).rejects.toThrow(RangeError);
  });
});
