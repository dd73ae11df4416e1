/// <reference lib="dom" />
import { writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { Command } from 'commander';
import { chromium, type Page } from 'playwright-core';
import { say } from '#cli/terminal.js';
import { startFlinch } from '../gateway/servers.js';
import { animatedPng, type Frame } from './animated-png.js';

interface Options {
  readonly model: string;
  readonly output: string;
  readonly chromium: string;
}

const SIZE = { width: 940, height: 640 };
/** A frame is never shown longer while something happens. */
const FRAME_MS = 400;
/** So long can the question and the end be read. */
const READING_MS = 3000;

/** `npm run lab -- pictures` */
export function picturesCommand(): Command {
  return new Command('pictures')
    .description(
      'Film how the page catches a mistake: a click on the first example, its answer, why a step is flagged.',
    )
    .option('--model <path>', 'checkpoint folder or GGUF file', 'models/reasoner')
    .option('--output <file>', 'an animated PNG', 'docs/caught.png')
    .option('--chromium <path>', 'browser', process.env.CHROMIUM_PATH ?? '/usr/bin/chromium')
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- pictures --model qwen2.5-coder-0.5b-instruct-q4_k_m.gguf --output qwen.png',
    )
    .action(async ({ model, output, chromium: executablePath }: Options) => {
      const server = await startFlinch(['--model', model]);
      const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
      try {
        const page = await browser.newPage({ viewport: SIZE });
        await page.goto(server.url);
        await page.locator('#send:not([disabled])').waitFor();
        const film = animatedPng(await caught(page));
        await writeFile(output, film);
        say(`${output}: ${Math.ceil(film.length / 1000)} kB\n`);
      } finally {
        await browser.close();
        await server.stop();
      }
    });
}

/** From the first example to the doubtful token. */
async function caught(page: Page): Promise<readonly Frame[]> {
  const frames: Frame[] = [await frameOf(page, READING_MS)];
  await page.locator('.example').first().hover();
  frames.push(await frameOf(page, READING_MS / 3));
  await page.locator('.example').first().click();
  const answer = page.locator('article.answer');
  await answer.waitFor();
  while ((await answer.getAttribute('data-state')) !== 'done') {
    const frame = await frameOf(page, FRAME_MS);
    if (!frame.png.equals(frames.at(-1)!.png)) frames.push(frame);
    await setTimeout(FRAME_MS);
  }
  frames.push(await frameOf(page, READING_MS));
  await answer.locator('.reasons button').first().click();
  await page.locator('#token-card').waitFor();
  return [...frames, await frameOf(page, 2 * READING_MS)];
}

const frameOf = async (page: Page, ms: number): Promise<Frame> => ({
  png: await page.screenshot({ animations: 'disabled', caret: 'hide' }),
  ms,
});
