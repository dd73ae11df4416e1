import { afterEach, describe, expect, it } from 'vitest';
import type { Running } from '../support/cli.js';
import { chatBody, post } from '../support/gateway.js';
import { HAS_TERMINAL, startOnTerminal } from '../support/pseudo-terminal.js';
import { Serving } from '../support/serving.js';

const running: Running[] = [];
afterEach(async () => {
  for (const { child, finished } of running.splice(0)) {
    child.stdin?.write('\x03'); // Ctrl-C
    await finished;
  }
});

/** Starts the gateway on a terminal; what it shows, line by line. */
async function serve(...args: string[]) {
  const process = startOnTerminal(['serve', '--port', '0', ...args], { NO_COLOR: '1' });
  running.push(process);
  const shown = (): string[] => process.stdout().replaceAll('\r', '').split('\n');
  await expect.poll(shown).toContainEqual(expect.stringContaining('(Ctrl-C to stop)'));
  const url = /http:\S+/.exec(process.stdout())?.[0] ?? '';
  return { url, shown };
}

describe.runIf(HAS_TERMINAL)('flinch serve on a terminal', () => {
  it('shows address, model, guard and price, then a line for each request but those for the page', async () => {
    const { url, shown } = await serve();
    await expect.poll(shown).toContainEqual(expect.stringMatching(/^ {2}price {2}reasoner writes about/));
    expect(shown().filter((line) => line !== '')).toEqual([
      '  loading reasoner ...',
      `  ${url}  (Ctrl-C to stop)`,
      '  model  reasoner on cpu',
      '  guard  annotate; 2 % of ordinary steps are flagged',
      '  price  measuring Adv. Pert.; --methods nll,entropy,margin leaves it out',
      expect.stringContaining('  price  reasoner writes about'),
    ]);
    const before = shown().length;
    expect((await fetch(url)).status).toBe(200);
    await (await post(url, chatBody({ max_tokens: 2 }))).text();
    const request = /^\d\d:\d\d:\d\d POST \/v1\/chat\/completions 200 reasoner \d+ ms 2 tokens/;
    await expect.poll(() => shown().slice(before - 1)).toEqual([expect.stringMatching(request), '']);
  });

  it('logs JSON where that is asked for', async () => {
    const { shown } = await serve('--log-format', 'json');
    const log = shown().filter((line) => line.startsWith('{'));
    expect(log.map((line) => JSON.parse(line).msg)).toEqual(['serving']);
  });

  it('shows short lines of workers, too', async () => {
    const { url, shown } = await serve('--workers', '2');
    await (await post(url, chatBody({ max_tokens: 2 }))).text();
    await expect.poll(shown).toContainEqual(expect.stringMatching(/ 200 reasoner \d+ ms 2 tokens/));
  });
});

it('flinch serve logs JSON in a pipe, or short lines where these are asked for', async () => {
  for (const [args, line] of [
    [[], /^{.*"route":"\/v1\/models\/\*name"/m],
    [['--log-format', 'pretty'], /^\d\d:\d\d:\d\d GET \/v1\/models\/\*name 404 \d+ ms model_not_found$/m],
  ] as const) {
    const serving = await Serving.start([...args], { FORCE_COLOR: '0' });
    running.push(serving.process);
    expect((await fetch(`${serving.url}/v1/models/none`)).status).toBe(404);
    await expect.poll(serving.process.stderr).toMatch(line);
    serving.kill();
  }
});
