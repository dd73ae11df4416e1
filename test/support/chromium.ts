import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Path of a browser; if there is none the tests in `file`, which skip themselves, print so. */
export function findChromium(file: string): string | undefined {
  const found = [
    process.env.CHROMIUM_PATH,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ].find((path) => path !== undefined && existsSync(path));
  if (!found) console.warn(`${file} is skipped: no Chromium found (set CHROMIUM_PATH to one)`);
  return found;
}

/** As long as a poll waits: it ends what hangs, and does not measure the machine. */
const LIMIT_MS = 120_000;

export async function launchChromium(executablePath: string): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--no-first-run',
  ];
  const browser = await chromium.launch({ executablePath, args });
  browser.on('context', (context) => context.setDefaultTimeout(LIMIT_MS));
  return browser;
}
