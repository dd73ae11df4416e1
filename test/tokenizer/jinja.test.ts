import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseTemplate, runTemplate } from '#src/tokenizer/faithful-jinja.js';
import { strftime } from '#src/tokenizer/strftime.js';

/** What Jinja in transformers' environment, and CPython in the C locale, made of these. */
const {
  variables,
  templates,
  strftime: dates,
} = z
  .object({
    variables: z.record(z.string(), z.unknown()),
    templates: z.array(
      z.object({ template: z.string(), text: z.string().optional(), error: z.string().optional() }),
    ),
    strftime: z.record(z.string(), z.record(z.string(), z.string())),
  })
  .parse(JSON.parse(readFileSync('test/fixtures/jinja.json', 'utf8')));

const constants = { none: null, None: null, true: true, True: true, false: false, False: false };

const render = (template: string): string =>
  runTemplate(parseTemplate(template), { ...constants, ...variables }, 60_000);

describe('a template makes the text that Jinja makes', () => {
  it.each(templates)('$template', ({ template, text, error }) => {
    if (error === undefined) expect(render(template)).toBe(text);
    else expect(() => render(template)).toThrow();
  });
});

describe('strftime makes the text that Python makes', () => {
  it.each(Object.entries(dates))('%s', (date, texts) => {
    const made = Object.keys(texts).map((format) => [format, strftime(new Date(date), format)]);
    expect(Object.fromEntries(made)).toEqual(texts);
  });
});
