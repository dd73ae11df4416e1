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

export async function launchChromium(executablePath: string): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--no-first-run',
  ];
  return chromium.launch({ executablePath, args });
}
