/// <reference lib="dom" />
import axe from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { findChromium, launchChromium } from './chromium.js';

/**
 * The page of a gateway in a browser, as the tests of a file use it one after the other. On a loaded machine a click
 * may return before the page has heard of it: what follows from one is waited for.
 */
export class TestPage {
  browser!: Browser;
  page!: Page;
  /** Errors of the page's own. */
  readonly problems: string[] = [];
  readonly #url: () => string;

  constructor(url: () => string) {
    this.#url = url;
  }

  async open(executablePath: string): Promise<void> {
    this.browser = await launchChromium(executablePath);
    // Pages of a context share what the browser keeps.
    this.page = await (await this.browser.newContext()).newPage();
    this.watch(this.page);
    await this.page.goto(this.#url());
    await this.ready();
  }

  watch(page: Page): void {
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(message.text());
    });
  }

  async ready(page = this.page): Promise<void> {
    await page.locator('button#send:not([disabled])').waitFor();
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.ready();
  }

  get answers(): Locator {
    return this.page.locator('article.answer');
  }

  async newChat(): Promise<void> {
    await this.page.locator('#new-chat').click();
    await expect.poll(() => this.answers.count()).toBe(0);
  }

  /** Asks, and waits for the answer's beginning. */
  async ask(question: string): Promise<Locator> {
    const count = await this.answers.count();
    await this.page.locator('#question').fill(question);
    await this.page.locator('#question').press('Enter');
    const answer = this.answers.nth(count);
    await answer.waitFor();
    return answer;
  }

  /** Asks, and waits for the answer's end. */
  async answered(question: string): Promise<Locator> {
    const answer = await this.ask(question);
    await this.ended(answer);
    return answer;
  }

  async ended(answer: Locator, state = 'done'): Promise<void> {
    await answer.locator(`xpath=self::*[@data-state="${state}"]`).waitFor();
  }

  /** Sets options by the ids of their controls, and folds them away again. */
  async set(values: Readonly<Record<string, string>>): Promise<void> {
    await this.openOptions();
    for (const [id, value] of Object.entries(values)) {
      const control = this.page.locator(`#${id}`);
      const isChoice = await control.evaluate(({ tagName }) => tagName === 'SELECT');
      await (isChoice ? control.selectOption(value) : control.fill(value));
    }
    await this.closeOptions();
  }

  async openOptions(): Promise<void> {
    const button = this.page.locator('#options-button');
    if ((await button.getAttribute('aria-expanded')) === 'false') await button.click();
    await this.page.locator('#options').waitFor();
  }

  async closeOptions(): Promise<void> {
    await this.page.locator('#options-button').click();
    await this.page.locator('#options-button[aria-expanded="false"]').waitFor();
  }

  /** A picture, where one is asked for. */
  async picture(name: string): Promise<void> {
    const path = process.env.FLINCH_SCREENSHOT?.replace(/(?=\.\w+$)/, `-${name}`);
    if (path) await this.page.screenshot({ path });
  }

  /** Answers of a server that is not there: each request is sent the events of its id. */
  async answerWith(events: (requestId: string, request: unknown) => readonly object[]): Promise<void> {
    await this.page.routeWebSocket('**/v1/stream', (socket) => {
      socket.onMessage((message) => {
        const request = JSON.parse(String(message));
        if (request.type !== 'generation.create') return;
        for (const event of events(request.request_id, request)) socket.send(JSON.stringify(event));
      });
    });
    await this.reload();
  }

  /** The models that the page is told of. */
  async offer(...data: readonly object[]): Promise<void> {
    await this.page.route('**/v1/models', (route) => route.fulfill({ json: { object: 'list', data } }));
    await this.reload();
  }
}

/** @param file the test file, for the word that its tests are skipped without a browser */
export const chromiumFor = (file: string): string | null => findChromium(file) ?? null;

export function usePage(executablePath: string | null, url: () => string): TestPage {
  const shared = new TestPage(url);
  beforeAll(async () => {
    if (executablePath) await shared.open(executablePath);
  });
  afterAll(async () => {
    await shared.browser?.close();
    expect(shared.problems).toEqual([]);
  });
  return shared;
}

/** Texts of the tokens of an answer. */
export const tokensOf = (answer: Locator): Locator => answer.locator('.text .flinch-token');

/** What axe-core finds on the page as it stands. */
export async function findings(page: Page): Promise<unknown[]> {
  // The page's policy lets no script in but its own; the devtools may.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: axe.source });
  const { result } = await session.send('Runtime.evaluate', {
    expression:
      'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 200))]))',
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return result.value;
}
