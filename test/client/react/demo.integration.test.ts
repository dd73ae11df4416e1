/// <reference lib="dom" />
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium, launchChromium } from '../../support/chromium.js';
import { addressIn, type Running, startScript } from '../../support/cli.js';
import { useGateway } from '../../support/gateway.js';

const executablePath = findChromium('client/react/demo.integration.test.ts');

describe.skipIf(!executablePath)('the chat with useChat, in headless Chromium', () => {
  const gateway = useGateway();
  let server: Running;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    // With the packages as they are built.
    server = startScript('client/react/demo/server.js', [gateway.url, '0']);
    browser = await launchChromium(executablePath!);
    page = await browser.newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(await addressIn(server));
    await page.getByRole('button', { name: 'Ask' }).click();
    await page
      .getByRole('status')
      .getByText(/Looks ordinary|Worth checking|Check this/)
      .waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    server?.child.kill('SIGKILL');
  });

  it('shows the answer in steps, with their tokens by risk', async () => {
    const steps = await page.locator('.flinch-step').count();
    expect(steps).toBeGreaterThan(2);
    const heats = await page
      .locator('.flinch-token')
      .evaluateAll((spans) => spans.map((span) => getComputedStyle(span).backgroundColor));
    expect(new Set(heats).size).toBeGreaterThan(2);
    const path = process.env.FLINCH_SCREENSHOT;
    if (path) await page.screenshot({ path, fullPage: true });
  });

  it('strikes out what was rolled back, and says so to screen readers', async () => {
    const struck = page.getByRole('deletion').first();
    // The model slips there with the seed of the demo.
    expect(await struck.textContent()).toMatch(/^Replaced: .*66 \* 9 = 694\./);
    const line = await struck.evaluate((each) => getComputedStyle(each).textDecorationLine);
    expect(line).toBe('line-through');
    const answer = await page.getByRole('article').ariaSnapshot();
    expect(answer).toMatch(/deletion: "?Replaced: /);
    expect(answer).toMatch(/(Looks ordinary|Worth checking: steps? [\d, and]+|Check this)\./);
  });

  it.each(['light', 'dark'] as const)('can be read in %s colours', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    const ratios = await page.evaluate(() => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!;
      /** Red, green and blue of colours painted over each other. */
      const painted = (...colours: string[]): readonly number[] => {
        for (const colour of colours) {
          canvas.fillStyle = colour;
          canvas.fillRect(0, 0, 1, 1);
        }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      /** WCAG 2: relative luminance. */
      const luminance = (rgb: readonly number[]): number => {
        const [r = 0, g = 0, b = 0] = rgb.map((value) => {
          const part = value / 255;
          return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = getComputedStyle(document.documentElement).backgroundColor;
      return [
        ...document.querySelectorAll('.flinch-token, .flinch-struck, .flinch-verdict, .flinch-flag'),
      ].map((each) => {
        const { color, backgroundColor } = getComputedStyle(each);
        const ground = luminance(painted(paper, backgroundColor));
        const ink = luminance(painted(paper, backgroundColor, color));
        return (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
      });
    });
    expect(ratios.length).toBeGreaterThan(3);
    expect(Math.min(...ratios)).toBeGreaterThan(4.5);
  });

  it('has no errors in the console', () => {
    expect(problems).toEqual([]);
    expect(server.stderr()).toBe('');
  });
});
