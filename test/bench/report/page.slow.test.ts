/// <reference lib="dom" />
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Evaluation } from '#bench/records/evaluation.js';
import { renderAnswers } from '#bench/report/answers-page.js';
import { buildReport } from '#bench/report/build.js';
import { renderPage } from '#bench/report/page.js';
import { readPaper } from '#bench/report/paper/paper-tables.js';
import { readLabels } from '#bench/review/given-labels.js';
import { findChromium, launchChromium } from '../../support/chromium.js';
import { useFolder } from '../../support/cli.js';
import {
  hostileAnswer,
  hostileEvaluation,
  MADE_UP_ANSWER,
  madeUpEvaluation,
} from '../../support/made-up-evaluation.js';

const executablePath = findChromium('report/page.test.ts');

const folder = useFolder();

async function write(name: string, evaluation: Evaluation): Promise<string> {
  const run = { label: evaluation.model.name, folder: name, evaluation };
  const path = folder.path(`${name}.html`);
  writeFileSync(path, renderPage(buildReport([run], readPaper())));
  const answer = name === 'hostile' ? hostileAnswer() : MADE_UP_ANSWER;
  const right = { ...MADE_UP_ANSWER, id: 'right', question: 'Is 3 prime?', correct: true, score: 0.07 };
  const unsure = { ...right, id: 'unsure', correct: null, score: 0.05 };
  const list = { title: run.label, folder: name, score: 'NLL', answers: [right, answer, unsure] };
  writeFileSync(folder.path(`${name}-answers.html`), renderAnswers(list));
  return pathToFileURL(path).href;
}

/** The report, and the answers to look at, with plain texts and with hostile ones. */
const pageNames = ['plain', 'hostile', 'plain-answers', 'hostile-answers'];

describe.skipIf(!executablePath)('the report page, in headless Chromium', () => {
  let browser: Browser;
  const pages = new Map<string, string>();

  beforeAll(async () => {
    const { model } = madeUpEvaluation();
    browser = await launchChromium(executablePath!);
    const math = { suite: 'math', model: { ...model, name: 'Llama-3.1-8B-Instruct' } };
    pages.set('plain', await write('plain', madeUpEvaluation(math)));
    pages.set('hostile', await write('hostile', hostileEvaluation()));
    for (const name of ['plain', 'hostile'])
      pages.set(`${name}-answers`, pages.get(name)!.replace('.html', '-answers.html'));
  });
  afterAll(async () => {
    await browser?.close();
  });

  /** Opens it and gathers what it complains of and asks for beyond itself. */
  async function open(name: string, options: BrowserContextOptions = {}) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => problems.push(message.text()));
    page.on('request', (request) => {
      if (request.url() !== pages.get(name)) problems.push(`asked for ${request.url()}`);
    });
    await page.goto(pages.get(name)!);
    return { page, problems };
  }
  const unfold = (page: Page) =>
    page.locator('details').evaluateAll((all) => {
      for (const one of all) one.setAttribute('open', 'open');
    });
  const picture = async (page: Page, name: string) => {
    const path = process.env.FLINCH_SCREENSHOT?.replace(/(?=\.\w+$)/, `-${name}`);
    if (path) await page.screenshot({ path, fullPage: true });
  };

  it.each(pageNames)('is well-formed as XML too: %s', async (name) => {
    const { page } = await open(name);
    const source = readFileSync(new URL(pages.get(name)!), 'utf8');
    const error = await page.evaluate((markup) => {
      const parsed = new DOMParser().parseFromString(markup, 'application/xml');
      return parsed.querySelector('parsererror')?.textContent ?? null;
    }, source);
    expect(error).toBeNull();
    await page.context().close();
  });

  it.each(['plain', 'hostile'])('needs no script: %s', async (name) => {
    const { page, problems } = await open(name, { javaScriptEnabled: false });
    await picture(page, name);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('runs nothing of what a model wrote', async () => {
    for (const name of ['hostile', 'hostile-answers']) {
      const { page, problems } = await open(name);
      await unfold(page);
      if (name === 'hostile-answers') await page.locator('.t').first().hover();
      expect(await page.locator('script:not([id=answers]), img, iframe, object').count()).toBe(
        name === 'hostile-answers' ? 1 : 0,
      );
      expect(problems).toEqual([]);
      await page.context().close();
    }
  });

  it('lists answers, unsure ones first, that are searched and filtered, and saves their labels', async () => {
    const { page, problems } = await open('plain-answers');
    const shown = async () => (await page.locator('h3 bdi').allTextContents()).join(' ');
    expect(await shown()).toBe('unsure right arithmetic-17');
    await page.locator('#sort').selectOption('highest');
    expect(await shown()).toBe('arithmetic-17 right unsure');
    await page.locator('#search').fill('PRIME');
    expect(await shown()).toBe('right unsure');
    await page.locator('#filter').selectOption('unsure');
    expect(await shown()).toBe('unsure');
    await page.getByRole('button', { name: 'wrong' }).click();
    expect(await page.locator('.label small').textContent()).toBe('by you; was unsure, by a rule');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save 1 label' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe('labels.jsonl');
    await file.saveAs(folder.path('labels.jsonl'));
    expect(await readLabels(folder.path('labels.jsonl'))).toMatchObject([
      { id: 'unsure', correct: false, response: MADE_UP_ANSWER.texts.join(''), by: null },
    ]);
    expect(problems.filter((problem) => !problem.startsWith('asked for blob:'))).toEqual([]);
    await page.context().close();
  });

  it.each(pageNames)('fits a phone without scrolling sideways, all of it unfolded: %s', async (name) => {
    const { page } = await open(name, { viewport: { width: 390, height: 844 } });
    await unfold(page);
    const [wide, room] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.clientWidth,
    ]);
    expect(wide).toBe(room);
    await picture(page, `${name}-narrow`);
    await page.context().close();
  });

  it.each(['plain', 'plain-answers'])('is legible in the dark: text of %s stands out', async (name) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await open(name, { colorScheme });
      await unfold(page);
      const contrasts = await page.evaluate(() => {
        const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!;
        /** Of colours that are laid over each other. */
        const luminance = (...colours: readonly string[]): number => {
          for (const colour of colours) {
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
          }
          const [r = 0, g = 0, b = 0] = [...canvas.getImageData(0, 0, 1, 1).data].map((byte) => {
            const share = byte / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ground = getComputedStyle(document.body).backgroundColor;
        return [...document.querySelectorAll('p, td, th, small, figcaption, a, h2, .t, .labels button')].map(
          (one) => {
            const { color, backgroundColor } = getComputedStyle(one);
            const both = [luminance(color), luminance(ground, backgroundColor)];
            return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
          },
        );
      });
      expect(Math.min(...contrasts)).toBeGreaterThan(4.5);
      await picture(page, `${name}-${colorScheme}`);
      await page.context().close();
    }
  });
});
