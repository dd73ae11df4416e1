import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { reasonerPath } from '#src/package-root.js';
import { findChromium, launchChromium } from '../support/chromium.js';
import { addressIn, type Outcome, type Running, startScript } from '../support/cli.js';
import { TestSocket, useGateway } from '../support/gateway.js';
import { LONG_QUESTION } from '../support/requests.js';

const EXAMPLES = new URL('../../examples/', import.meta.url);

const executablePath = findChromium('examples.test.ts: the page');

const pagePort = await freePort();
const gateway = useGateway(async () => reasonerPath, {
  settings: { access: { origins: [`http://127.0.0.1:${pagePort}`] } },
});

let browser: Browser | null = null;
beforeAll(async () => {
  if (executablePath) browser = await launchChromium(executablePath);
});
afterAll(async () => {
  await browser?.close();
});

function start(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  const running = startInstalled(name, args, env);
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

/** With the package as it is built. */
const startInstalled = (name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Running =>
  startScript(fileURLToPath(new URL(name, EXAMPLES)), args, '', env);

const run = (name: string, args: readonly string[] = [gateway.url], env?: NodeJS.ProcessEnv) =>
  start(name, args, env).finished;

/** The model slips at 66 * 9, and its doubt shows; nothing else of the answer is as doubtful. */
const SLIP = /⚑ .*66 \* 9 = 694/;

function expectClean({ code, stdout, stderr }: Outcome): void {
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).not.toContain('\x1b[');
}

describe('examples/', () => {
  it('are all in the list', async () => {
    const readme = await readFile(new URL('README.md', EXAMPLES), 'utf8');
    const files = (await readdir(EXAMPLES)).filter(
      (name) => /\.(js|html)$/.test(name) && name !== 'shared.js',
    );
    expect(files.length).toBeGreaterThanOrEqual(8);
    for (const name of files) expect(readme).toContain(name);
  });

  it('terminal.js shows an answer whose slips were replaced, in colour at a terminal alone', async () => {
    const plain = await run('terminal.js');
    expectClean(plain);
    expect(plain.stdout).toMatch(SLIP);
    expect(plain.stdout).toMatch(/694\. → replaced by: .*66 \* 9 = 594/);
    const [answer = ''] = plain.stdout.split('⚑');
    expect(answer).toMatch(/66 \* 9 = 594\.\n(.+\n)+.*599\.\n$/);
    expect(answer).not.toContain('694');
    const coloured = await run('terminal.js', [], { FLINCH_URL: gateway.url, FORCE_COLOR: '3' });
    expect(coloured.stdout).toContain('\x1b[');
  });

  it('terminal.js ends its answer with Ctrl-C', async () => {
    const running = start('terminal.js', [gateway.url, LONG_QUESTION]);
    await expect.poll(running.stdout).not.toBe('');
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(130);
    await gateway.idle();
  });

  /** It waits for seconds, and other tests meanwhile. */
  let withoutGateway: Running;
  beforeAll(async () => {
    withoutGateway = startInstalled('terminal.js', [`http://127.0.0.1:${await freePort()}`]);
  });
  afterAll(() => void withoutGateway.child.kill('SIGKILL'));

  it('terminal.js says that there is no gateway', async () => {
    const { code, stderr } = await withoutGateway.finished;
    expect([code, stderr]).toEqual([1, 'there was no connection for 5 s\n']);
  });

  it.each(['openai.js', 'ai-sdk.js'])('%s reads scores, rivals and flags of a stream', async (name) => {
    // As it is copied, or written by hand.
    const outcome = await run(name, [`${gateway.url.replace('http://', '')}/`]);
    expectClean(outcome);
    // The doubtful token is the wrong digit, and its rival the right one.
    expect(outcome.stdout).toMatch(/^"4": risk (0\.99\d|1\.000), its rival "3"$/m);
    // Once as it came, once from its tokens.
    expect(outcome.stdout.match(/^.*66 \* 9 = 694\.$/gm)?.length).toBeGreaterThanOrEqual(2);
    expect(outcome.stdout).toMatch(SLIP);
    if (name === 'ai-sdk.js')
      expect(outcome.stdout).toMatch(/^verdict: \{"advice":"check","flagged":(true|false),/m);
  });

  it.each(['openai.js', 'ai-sdk.js', 'terminal.js', 'agent.js'])(
    '%s says in a line that it is not where it should be',
    async (name) => {
      const { code, stdout, stderr } = await run(name, [`${gateway.url}/nowhere`]);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^.* at .*\/nowhere\/v1\/.*\n$/);
    },
  );

  it.each(['express-app.js', 'page.js'])(
    '%s says in a line that its port is in use, and ends',
    async (name) => {
      const { port } = new URL(gateway.url);
      const { code, stdout, stderr } = await run(name, name === 'page.js' ? [gateway.url, port] : [port]);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^listen EADDRINUSE.*\n$/);
    },
  );

  it.each(['openai.js', 'terminal.js'])('%s ends where nobody reads on, as in `| head`', async (name) => {
    const running = start(name, [gateway.url]);
    running.child.stdout?.once('data', () => running.child.stdout?.destroy());
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' });
    await gateway.idle();
  });

  it('agent.js asks again until its calculator finds nothing wrong with what was doubtful', async () => {
    const outcome = await run('agent.js');
    expectClean(outcome);
    const attempts = outcome.stdout.split(/^(?=Attempt)/m);
    expect(attempts.length).toBeGreaterThan(1);
    expect(attempts[0]).toContain('66 * 9 = 694 is wrong: it is 594');
    for (const attempt of attempts.slice(0, -1)) expect(attempt).toContain(' is wrong: it is ');
    expect(attempts.at(-1)).not.toContain('wrong');
    expect(attempts.at(-1)).toMatch(/ of them doubtful\n.*\b599\.\n$/s);
  });

  it('langgraph.js runs its node again until the answer is not flagged', async () => {
    const outcome = await run('langgraph.js');
    expectClean(outcome);
    const attempts = outcome.stdout.split(/^(?=Attempt)/m);
    expect(attempts.length).toBeGreaterThan(1);
    expect(attempts[0]).toContain('66 * 9 = 694');
    for (const attempt of attempts.slice(0, -1)) expect(attempt).toMatch(/⚑ risk (0\.9|1\.0)\d\d: /);
    expect(attempts.at(-1)).toMatch(/answer not flagged\n.*\b599\.\n$/s);
    const { code, stdout, stderr } = await run('langgraph.js', [`${gateway.url}/nowhere`]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^404 there is nothing at .*\/nowhere\/v1\//);
  });

  it('rxjs-policy.js goes by its own choice, and shows what is settled alone', async () => {
    const outcome = await run('rxjs-policy.js', []);
    expectClean(outcome);
    expect(outcome.stdout).toMatch(/^ {7}66 \* 9 = 694\. /m);
    expect(outcome.stdout).toMatch(/^ {5}→ .*66 \* 9 = 594\. /m);
    const settled = outcome.stdout.split('\n').filter((line) => /^\d/.test(line));
    expect(settled.join('\n')).not.toContain('694');
    expect(settled.at(-1)).toMatch(/^0\.\d{3} .*599\.$/);
  });
});

describe('examples/express-app.js', () => {
  let running: Running;
  let url: string;
  beforeAll(async () => {
    running = startInstalled('express-app.js', ['0']);
    url = await addressIn(running);
  });
  afterAll(() => void running.child.kill('SIGKILL'));

  it('has its own page, and the gateway below a path, for every client', async () => {
    expect(await (await fetch(url)).text()).toContain('Our own page');
    const outcome = await run('openai.js', [`${url}/ai`]);
    expectClean(outcome);
    expect(outcome.stdout).toMatch(SLIP);
    expectClean(await run('terminal.js', [`${url}/ai/`]));
  });

  it.skipIf(!executablePath)('has the page there, which connects', async () => {
    const page = await browser!.newPage();
    await page.goto(`${url}/ai`);
    await page.locator('button#send:not([disabled])').waitFor();
    expect(await page.locator('#connection-words').textContent()).toBe('Connected');
  });

  it('ends when it is told to, and lets go of its clients', async () => {
    const socket = await TestSocket.open(`${url}/ai`);
    // A browser keeps connections that it has not used yet.
    const { hostname: host, port } = new URL(url);
    const unused = connect({ host, port: Number(port) });
    await once(unused, 'connect');
    running.child.kill('SIGTERM');
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' });
    await expect.poll(() => socket.closeCode).toBe(1001);
  });
});

describe.skipIf(!executablePath)('examples/page.html, in headless Chromium', () => {
  let page: Page;
  beforeAll(async () => {
    page = await browser!.newPage();
  });

  it('colours the tokens of an answer from another origin, and shows what was struck out', async () => {
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      // The browser asks for an icon by itself.
      if (message.type() === 'error' && !message.location().url.endsWith('favicon.ico')) {
        problems.push(message.text());
      }
    });
    const running = start('page.js', [gateway.url, String(pagePort)]);
    await page.goto(await addressIn(running));
    await page.locator('body[data-phase="done"]').waitFor();
    expect(problems).toEqual([]);
    expect(await page.locator('#answer').textContent()).toMatch(/66 \* 9 = 594\..*599\.$/s);
    expect(await page.locator('#corrections').textContent()).toMatch(/66 \* 9 = 694.*66 \* 9 = 594/);
    const shades = await page
      .locator('#answer span')
      .evaluateAll((spans) => spans.map((span) => getComputedStyle(span).backgroundColor));
    expect(new Set(shades).size).toBeGreaterThan(2);
    running.child.kill('SIGTERM');
    expect((await running.finished).code).toBe(0);
  });

  it('says what is amiss where the gateway does not let it in', async () => {
    const origin = await addressIn(start('page.js', [gateway.url, String(await freePort())]));
    await page.clock.install();
    await page.goto(origin);
    const answer = page.locator('#answer');
    await expect.poll(() => answer.textContent()).toBe('Waiting for the gateway …');
    await page.clock.fastForward(5000); // of patience
    await page.locator('body[data-phase="failed"]').waitFor();
    expect(await answer.textContent()).toContain(`does its access.origins name ${origin}?`);
  });
});
