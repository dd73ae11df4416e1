import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { expectedTensors } from '#src/checkpoint/weights.js';
import { TemplateError } from '#src/files/file-errors.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { checkConfig } from '../support/check-config.js';
import { filesOf, fixture, folder } from '../support/graphs.js';
import { mutated, refused, runs, spliced } from '../support/mutations.js';

/** What nests deeper than `JSON.stringify` can go, or is `undefined` itself, becomes null. */
function printed(value: unknown): Buffer {
  try {
    return Buffer.from(JSON.stringify(value) ?? 'null');
  } catch {
    return Buffer.from('null');
  }
}

it('a folder with one of its files changed is opened, or refused by a ModelError that names the file', async () => {
  const files = await filesOf(fixture('tiny-qwen2'));
  const generation = printed({ eos_token_id: [637, 639], do_sample: true, temperature: 0.2, top_p: 0.5 });
  const originals = new Map(Object.entries({ ...files, 'generation_config.json': generation }));
  const dir = await folder(Object.fromEntries(originals));
  const change = fc.constantFrom(...originals).chain(([name, bytes]) => {
    const asJson = name.endsWith('.json') ? [mutated(JSON.parse(new TextDecoder().decode(bytes)))] : [];
    const headerEnd = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
    const start = name.endsWith('.json') ? bytes : bytes.subarray(0, headerEnd);
    const content = fc.oneof(
      spliced(start).map((text) => Buffer.concat([text, bytes.subarray(start.length)])),
      ...asJson.map((values) => values.map(({ value }) => printed(value))),
    );
    return content.map((text) => ({ name, text }));
  });
  await fc.assert(
    fc.asyncProperty(change, async ({ name, text }) => {
      await writeFile(join(dir, name), text);
      try {
        checkCheckpoint(await openCheckpoint(dir));
      } catch (error) {
        refused(error, dir, true);
      } finally {
        await writeFile(join(dir, name), originals.get(name)!);
      }
    }),
    { numRuns: runs(300) },
  );
});

/** Every id that it gives is one that the model has; every weight lies in its file. */
function checkCheckpoint(checkpoint: Checkpoint): void {
  const { config, tokenizer, tensors, eosTokenIds } = checkpoint;
  checkConfig(config);
  for (const name of expectedTensors(config).keys()) expect(tensors.has(name)).toBe(true);
  const ids = [...eosTokenIds, ...tokenizer.encode('hello 12\n€ <|im_end|>')];
  expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id < config.vocabSize)).toBe(true);
  try {
    encodePrompt(checkpoint, [{ role: 'user', content: 'hi' }]);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
  }
}
