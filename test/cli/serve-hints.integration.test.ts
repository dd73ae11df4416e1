import { writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DEFAULT_METHODS } from '#src/uncertainty/method-names.js';
import { useFolder } from '../support/cli.js';
import { chatBody } from '../support/gateway.js';
import { REASONER } from '../support/golden.js';
import { Serving } from '../support/serving.js';

/** From the first line on: what it does, how to avoid it, and what it costs. */
const PRICE =
  /^\n {2}loading reasoner \.\.\.\n(?:.*\n)+ {2}price {2}measuring Adv\. Pert\.; --methods nll,entropy,margin leaves it out\n {2}price {2}reasoner writes about \d+ tokens\/s; Adv\. Pert\./;

const answer = z.object({ flinch: z.object({ guard: z.object({ methods: z.array(z.string()) }) }) });

const folder = useFolder();
const running: Serving[] = [];
afterEach(() => {
  for (const serving of running.splice(0)) serving.kill();
});

async function serve(...args: string[]): Promise<Serving> {
  const serving = await Serving.start(['--log-level', 'error', ...args]);
  running.push(serving);
  return serving;
}

async function methodsOf(serving: Serving, guard: object = {}): Promise<string[]> {
  const { text } = await serving.send('POST', '/v1/chat/completions', chatBody({ max_tokens: 2, guard }));
  return answer.parse(JSON.parse(text)).flinch.guard.methods;
}

describe('what flinch serve says of Adv. Pert. at its start', () => {
  it('is what it costs, which is measured', async () => {
    const serving = await serve();
    await expect.poll(serving.process.stdout).toMatch(PRICE);
    expect(await methodsOf(serving)).toEqual(DEFAULT_METHODS);
  });

  it('is nothing where --methods leaves it out, also of a configuration', async () => {
    const file = folder.path('flinch.yaml');
    writeFileSync(file, 'models: {reasoner: {checkpoint: models/reasoner}}\nguard: {defaults: {rate: 0.1}}');
    const serving = await serve('--config', file, '--methods', 'nll,entropy');
    expect(await methodsOf(serving)).toEqual(['nll', 'entropy']);
    expect(await methodsOf(serving, { methods: ['adversarial'] })).toEqual(['adversarial']);
    expect(serving.process.stdout()).not.toContain('Adv. Pert.');
  });

  it('is that an upstream without a scorer has none', async () => {
    const serving = await serve('--upstream', 'http://127.0.0.1:9/v1', '--upstream-model', 'far');
    expect(serving.process.stdout()).toContain('far has no Adv. Pert.: it takes a scorer');
  });

  it('is how fast a scorer follows', async () => {
    const far = ['--upstream', 'http://127.0.0.1:9/v1', '--upstream-model', 'far'];
    const serving = await serve(...far, '--scorer', REASONER);
    await expect.poll(serving.process.stdout).toMatch(/ {2}price {2}far scores about \d+ tokens\/s\n/);
  });
});
