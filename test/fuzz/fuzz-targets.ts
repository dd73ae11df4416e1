import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mutated, spliced } from '../support/mutations.js';
import { peakMemory } from '../support/peak-memory.js';
import type { Limits } from './limits.js';
import type { Target } from './target.js';
import { FILES } from './targets/files.js';
import { MODELS } from './targets/models.js';
import { REQUESTS } from './targets/requests.js';
import { UPSTREAM } from './targets/upstream.js';

const CORPUS = fileURLToPath(new URL('corpus', import.meta.url));
/** MiB that an input may take. */
const MOST_MEMORY = 300;

const corpusOf = (name: string): Uint8Array[] =>
  readdirSync(join(CORPUS, name)).map((file) => readFileSync(join(CORPUS, name, file)));

/** The same bytes, with values changed where they are JSON. */
function changed(bytes: Uint8Array): fc.Arbitrary<Uint8Array>[] {
  const text = Buffer.from(bytes).toString();
  try {
    const values = mutated(JSON.parse(text)).map(({ value }) => Buffer.from(printed(value)));
    return [spliced(bytes), values];
  } catch {
    return [spliced(bytes), changedLines(text)];
  }
}

/** What stands between braces on a line may be JSON, such as in events of a stream. */
function changedLines(text: string): fc.Arbitrary<Uint8Array> {
  const lines = text.split('\n');
  const arbitraries = lines.map((line) => {
    const at = line.indexOf('{');
    try {
      const json: unknown = JSON.parse(line.slice(at));
      const values = mutated(json).map(({ value }) => line.slice(0, at) + printed(value));
      return fc.oneof({ weight: 3, arbitrary: fc.constant(line) }, { weight: 1, arbitrary: values });
    } catch {
      return fc.constant(line);
    }
  });
  return fc.tuple(...arbitraries).map((all) => Buffer.from(all.join('\n')));
}

/** Some values nest too deep to print. */
function printed(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '['.repeat(50_000) + ']'.repeat(50_000);
  }
}

async function fuzz({ name, run, mostMs = 2000 }: Target, limits: Limits): Promise<void> {
  const examples = corpusOf(name).map((input): [Uint8Array] => [input]);
  const last = join(tmpdir(), 'flinch-fuzz', name);
  mkdirSync(dirname(last), { recursive: true });
  let inputs = 0;
  const attempt = async (input: Uint8Array): Promise<void> => {
    inputs += 1;
    // It is there to be looked at if the process ends or hangs.
    writeFileSync(last, input);
    const before = process.cpuUsage();
    const memory = await peakMemory(() => run(input));
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(mostMs);
    expect(memory).toBeLessThan(MOST_MEMORY);
  };
  const drawn = fc.oneof(...examples.flatMap(([input]) => changed(input)), fc.uint8Array());
  await fc.assert(fc.asyncProperty(drawn, attempt), { ...limits, examples });
  if (limits.interruptAfterTimeLimit)
    console.info(`${name}: ${inputs} inputs, seed ${limits.seed}, no finding`);
}

export function fuzzTargets(limits: Limits): void {
  describe('whatever comes in is taken, or refused by an error that names it', () => {
    for (const target of [...FILES, ...MODELS, ...REQUESTS, ...UPSTREAM])
      it(target.name, () => fuzz(target, limits));
  });
}
