import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { checkByCommand, UncheckedError } from '#bench/suites/own/check-command.js';
import type { BenchProblem } from '#bench/suites/suite.js';
import { useFolder } from '../../support/cli.js';

const folder = useFolder();
const row = { answers: ['4'], choices: null, context: null, messages: null, right: null };
const problem: BenchProblem = { id: 'row-7', subset: 's', question: '?', reference: '4', given: null, row };
const check = (command: string, timeoutMs = 20_000) =>
  checkByCommand(command, problem, '4', new AbortController().signal, timeoutMs);

describe('a program that checks an answer', () => {
  it.each([
    ['echo right', { correct: true, extracted: null, by: 'program' }],
    ['echo \'{"right": false, "extracted": "5"}\'', { correct: false, extracted: '5', by: 'program' }],
  ])('%s is believed', async (command, verdict) => {
    expect(await check(command)).toEqual(verdict);
  });

  const late = folder.path('late');
  it.each([
    ['sleep 600', 500, 'took longer than 0.5 s about row-7'],
    [`sh -c 'sleep 3; echo > "${late}"' & sleep 600`, 500, 'took longer than 0.5 s about row-7'],
    // Left the group, and holds the output open.
    ['setsid sleep 5 & echo right', 500, 'took longer than 0.5 s about row-7'],
    ['yes', 20_000, 'printed more than 1 MiB about row-7'],
    ['yes >&2', 20_000, 'printed more than 1 MiB about row-7'],
    ['echo why >&2; exit 3', 20_000, 'ended with 3 about row-7: why'],
    ['kill -9 $$', 20_000, 'was ended by SIGKILL about row-7'],
    ['echo maybe', 20_000, 'about row-7: is not valid JSON'],
  ])('%s says nothing about it', async (command, timeoutMs, problem) => {
    const failure = check(command, timeoutMs);
    await expect(failure).rejects.toThrow(UncheckedError);
    await expect(failure).rejects.toThrow(problem);
  });

  it('ends with all that it has started', async () => {
    await sleep(3500);
    expect(existsSync(late)).toBe(false);
  });
});
