import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ownSuite } from '#bench/suites/own/own.js';
import { questionsOf } from '#bench/suites/own/own-problems.js';
import { readRows } from '#bench/suites/own/question-rows.js';
import { openTask } from '#bench/suites/own/task.js';

/** Responses with the right labels, beside the repository: `choice-check.because.jsonl` is of the check `choice`. */
const CASES = fileURLToPath(new URL('../../../../shared/fixtures/cases/', import.meta.url));
const CHECKS: Readonly<Record<string, string>> = { choice: 'choice', number: 'number', text: 'contains' };
const files = existsSync(CASES) ? readdirSync(CASES).filter((file) => /-check\..*\.jsonl$/.test(file)) : [];

describe.skipIf(files.length === 0)(
  `cases${files.length === 0 ? ' (skipped: ../shared/fixtures is not there)' : ''}`,
  () => {
    it.each(files)('of %s have their labels', async (file) => {
      const [check = ''] = file.split('-');
      const task = openTask(CASES + file, CHECKS[check] ?? 'kind');
      const expected = readFileSync(CASES + file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ id, expect: correct }) => [id, correct]);
      const { problems, settings } = questionsOf(await readRows(task.file, '--questions'), task);
      const { check: checked } = ownSuite(settings);
      expect(problems.map((one) => [one.id, checked(one, one.given!.steps.join(''))?.correct])).toEqual(
        expected,
      );
    });
  },
);
