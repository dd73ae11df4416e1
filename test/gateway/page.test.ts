/// <reference lib="dom" />
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../support/cli.js';
import { useGateway } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { kill } from '../support/process.js';
import { LONG_QUESTION, QUESTION } from '../support/requests.js';

const executablePath = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => path !== undefined && existsSync(path));
if (!executablePath) console.warn('page.test.ts is skipped: no Chromium found (set CHROMIUM_PATH to one)');

const folder = useFolder();

describe.skipIf(!executablePath)('the page, in headless Chromium', () => {
  const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.0015));
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: executablePath!,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--no-first-run',
      ],
    });
    page = await browser.newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(gateway.url);
    await page.locator('button#send:not([disabled])').waitFor();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const ask = async (question: string) => {
    const answers = await page.locator('article.answer').count();
    await page.locator('textarea#question').fill(question);
    await page.locator('textarea#question').press('Enter');
    const answer = page.locator('article.answer').nth(answers);
    await answer.waitFor();
    return answer;
  };

  it('shows the answer token by token, each coloured by its score', async () => {
    await page.locator('#temperature').fill('0');
    const answer = await ask(QUESTION);
    await answer.locator('span.token').first().waitFor();
    await answer.locator('xpath=self::*[@data-state="done"]').waitFor();
    const tokens = answer.locator('span.token');
    expect(await tokens.count()).toBeGreaterThan(40);
    expect(await answer.locator('span.token[data-score="missing"]').count()).toBe(0);
    expect((await tokens.allTextContents()).join('')).toMatch(/89\.$/);
    const colours = await tokens.evaluateAll((spans) =>
      spans.map((span) => getComputedStyle(span).backgroundColor),
    );
    expect(new Set(colours).size).toBeGreaterThan(3);
    if (process.env.FLINCH_SCREENSHOT) await page.screenshot({ path: process.env.FLINCH_SCREENSHOT });
  });

  it('explains a token under the pointer: numbers and rival', async () => {
    const hesitant = page.locator('span.token', { hasText: 'We' }).first();
    await hesitant.hover();
    const card = page.locator('#token-card');
    await card.waitFor({ state: 'visible' });
    const text = await card.textContent();
    for (const fact of ['adversarial', 'nll', 'entropy', 'margin', 'rival'])
      expect(text?.toLowerCase()).toContain(fact);
  });

  it('stops a generation', async () => {
    const answer = await ask(LONG_QUESTION);
    await answer.locator('span.token').nth(10).waitFor();
    await page.locator('button#stop').click();
    await answer.locator('xpath=self::*[@data-state="done"]').waitFor();
    expect(await answer.textContent()).toMatch(/cancelled|stopped/i);
    await gateway.idle();
  });

  it('says when scoring was lost, and marks the tokens without scores', async () => {
    const answer = await ask(LONG_QUESTION);
    await answer.locator('span.token[data-score="scored"]').first().waitFor();
    kill(gateway.engine.status().score.pid);
    await answer.locator('xpath=self::*[@data-state="failed"]').waitFor();
    expect(await answer.textContent()).toContain('died');
  });

  it('shows tokens that a schedule skipped as neither certain nor missing', async () => {
    await page.routeWebSocket('**/v1/stream', (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => {
        server.send(JSON.stringify({ ...JSON.parse(String(message)), guard: { schedule: 'lazy' } }));
      });
    });
    await page.reload();
    await page.locator('button#send:not([disabled])').waitFor();
    await page.locator('#temperature').fill('0');
    const answer = await ask(QUESTION);
    await answer.locator('xpath=self::*[@data-state="done"]').waitFor();
    const skipped = answer.locator('span.token[data-score="skipped"]');
    const [all, sure] = [await answer.locator('span.token').count(), await skipped.count()];
    expect(sure).toBeGreaterThan(5);
    expect(await answer.locator('span.token[data-score="scored"]').count()).toBe(all - sure);
    expect(await answer.locator('rect.curve-skipped').count()).toBe(sure);
    expect(await answer.locator('p.status').textContent()).toContain(`${sure} tokens skipped`);
    expect(await answer.innerHTML()).not.toContain('NaN');
    await skipped.first().hover();
    expect(await page.locator('#token-card').textContent()).toMatch(/Adversarialskipped: the model was sure/);
  });

  it('takes back what the guard retracts, and marks the steps that it flagged', async () => {
    const guard = { action: 'rollback', rate: 0.99, candidates: 3, choose: 'uncertainty' };
    const events: Record<string, unknown>[] = [];
    await page.routeWebSocket('**/v1/stream', (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => {
        server.send(JSON.stringify({ ...JSON.parse(String(message)), temperature: 1, seed: 3, guard }));
      });
      server.onMessage((message) => {
        events.push(JSON.parse(String(message)));
        socket.send(message);
      });
    });
    await page.reload();
    await page.locator('button#send:not([disabled])').waitFor();
    const answer = await ask(QUESTION);
    await answer.locator('xpath=self::*[@data-state="done"]').waitFor();
    const texts: unknown[] = [];
    for (const { type, text, from } of events) {
      if (type === 'token.delta') texts.push(text);
      if (type === 'token.retracted') texts.length = Number(from);
    }
    expect(events.some(({ type }) => type === 'token.retracted')).toBe(true);
    const tokens = answer.locator('span.token');
    expect(await tokens.allTextContents()).toEqual(texts);
    expect(await answer.locator('rect.curve-scored').count()).toBe(texts.length);
    const lines = texts.filter((text) => String(text).includes('\n')).length;
    expect(await answer.locator('.curve-newlines line').count()).toBe(lines);
    expect(await answer.locator('span.token.flagged').count()).toBeGreaterThan(0);
    if (process.env.FLINCH_SCREENSHOT) {
      await page.screenshot({ path: process.env.FLINCH_SCREENSHOT.replace(/(?=\.\w+$)/, '-guard') });
    }
  });

  it('had no errors of its own', () => {
    expect(problems).toEqual([]);
  });
});
