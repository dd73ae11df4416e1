import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { transform } from 'esbuild';
import { expect } from 'vitest';
import { startProgram } from './cli.js';
import { programsOf, readDocuments } from './documents.js';

/** Where a program finds the packages that are installed here. */
const FOLDER = 'node_modules/.cache';

/**
 * Runs the first program of a document, as a process.
 * @param url of the gateway, in place of the usual one
 * @returns what it prints
 */
export async function runClientOf(file: string, url: string): Promise<string> {
  const [program] = programsOf(readDocuments().find((document) => document.file === file)?.blocks ?? []);
  const text = (program?.text ?? '').replace('http://127.0.0.1:8787', url);
  expect(text).toContain(url);
  const { code } = await transform(text, { loader: 'ts' });
  mkdirSync(FOLDER, { recursive: true });
  const script = `${FOLDER}/how-to-${process.pid}.mjs`;
  writeFileSync(script, code);
  try {
    const {
      code: status,
      stdout,
      stderr,
    } = await startProgram(process.execPath, [script], null, {}).finished;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout;
  } finally {
    rmSync(script);
  }
}
