import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TextLimitError } from '#src/files/file-errors.js';
import { Refused } from '#src/tokenizer/jinja/faults.js';
import { parseTemplate, runTemplate } from '#src/tokenizer/jinja/render.js';
import { strftime } from '#src/tokenizer/strftime.js';

const variables = z.record(z.string(), z.unknown());
const read = <T>(file: string, schema: z.ZodType<T>): T =>
  schema.parse(JSON.parse(readFileSync(`test/fixtures/${file}.json`, 'utf8')));

/** What Jinja in transformers' environment, and CPython in the C locale, made of these. */
const written = read(
  'jinja',
  z.object({
    variables,
    templates: z.array(
      z.object({ template: z.string(), text: z.string().optional(), error: z.string().optional() }),
    ),
    strftime: z.record(z.string(), z.record(z.string(), z.string())),
  }),
);
/** Templates that a grammar made. No text stands for an error. */
const grown = read(
  'jinja-grammar',
  z.object({ variables, templates: z.array(z.tuple([z.string(), z.string().nullable()])) }),
);

const render = (template: string, given: Readonly<Record<string, unknown>> = written.variables): string =>
  runTemplate(parseTemplate(template), given, {}, 60_000);

/** The text, null for an error, or a refusal. */
function outcome(template: string): string | null | Refused {
  try {
    return render(template, grown.variables);
  } catch (error) {
    return error instanceof Refused ? error : null;
  }
}

describe('a template makes the text that Jinja makes', () => {
  it.each(written.templates)('$template', ({ template, text, error }) => {
    if (error === undefined) expect(render(template)).toBe(text);
    else expect(() => render(template)).toThrow();
  });

  it('of 600 templates that a grammar made, or is refused by name', () => {
    const all = grown.templates.map(([template, text]) => ({ template, text, made: outcome(template) }));
    const refused = all.filter(({ made }) => made instanceof Refused);
    expect(all.filter(({ text, made }) => !(made instanceof Refused) && made !== text)).toEqual([]);
    expect(refused.length).toBeLessThanOrEqual(210);
    expect(all.length).toBe(600);
  });
});

describe('what is not known is refused by name, with its line', () => {
  it.each([
    ["\n{{ 'a' | wordwrap(3) }}", 'line 2: the filter "wordwrap" is not supported in chat templates'],
    ["{{ 'a'.encode() }}", 'the method "encode" of texts'],
    ['{{ (1).bit_length() }}', `the attribute "bit_length" of 'int'`],
    ["\n\n{% include 'a' %}", 'line 3: {% include %}'],
    ['{{ cycler(1, 2) }}', '"cycler"'],
    ["{{ [1] | map('string') }}", 'printing a generator'],
    ['{{ namespace(a=1) }}', 'printing a namespace'],
    ["{{ ('a' | safe).strip() }}", 'the attribute "strip" of safe text'],
    ['{{ 2 ** 3 }}', 'the operator "**"'],
    ["{{ '%#x' % 5 }}", 'the format "%#x"'],
    ["{{ '{:>8}'.format('a') }}", 'the field "{:>8}" of a format'],
    ['{{ 2.5 | round }}', 'the filter "round"'],
    ["{{ '12' | int(base=8) }}", 'the argument "base" of "int"'],
    ["{{ 'a' is lower }}", 'the test "lower"'],
    ["{{ 'ab'.find('b', 1) }}", 'the argument "start" of "find"'],
    ["{{ '<b>' + ('<i>' | safe) }}", '"+" with safe text'],
    ['{% filter upper %}a{% endfilter %}', '{% filter %}'],
    ['{% with a = 1 %}{{ a }}{% endwith %}', '{% with %}'],
    ['{% raw %}{{ x }}{% endraw %}', '{% raw %}'],
    ['{% for i in [1] recursive %}{% endfor %}', 'a recursive loop'],
    ["{% for i in [1] %}{{ loop.cycle('a') }}{% endfor %}", '"loop.cycle"'],
    ['{% macro f() %}{{ varargs }}{% endmacro %}{{ f(1) }}', 'more arguments of the macro "f"'],
    ["{{ dict(**{'b': none}) }}", '"**"'],
  ])('%s', (template, message) => {
    expect(() => render(template)).toThrow(Refused);
    expect(() => render(template)).toThrow(message);
  });

  it.each([
    ["\n{{ 'a' | nonsense }}", 'line 2: the filter "nonsense" is not supported'],
    ['{{ 1 is nonsense }}', 'line 1: the test "nonsense" is not supported'],
    ['{% nonsense %}', 'line 1: {% nonsense %} is not supported'],
    ['{{ user.name }}', 'line 1: "user" is undefined'],
    ['{{ messages[0].a.b }}', `line 1: 'dict' has no attribute "a"`],
  ])('as Jinja refuses %s', (template, message) => {
    expect(() => render(template)).toThrow(message);
  });
});

describe('a step takes no more memory or time than a template may', () => {
  const doubled = (start: string, more: string): string =>
    `{% set ns = namespace(x=${start}) %}{% for i in range(99) %}{% set ns.x = ${more} %}{% endfor %}`;
  it.each([
    ["{{ 'a' * 10 ** 9 }}"],
    ["{{ 'a' | center(10 ** 12) | length }}"],
    ["{{ '%1000000000d' % 1 }}"],
    ["{{ '{:>1000000000}'.format(1) }}"],
    ["{{ ('a' * 200000) | replace('a', 'b' * 200000) | length }}"],
    ['{{ [[1] * 1000] | tojson(indent=10 ** 7) | length }}'],
    ['{{ [0] * 10 ** 9 }}'],
    ['{{ 10 ** (10 ** 10) }}'],
    [`${doubled('2', 'ns.x * ns.x')}{{ ns.x }}`],
    [`${doubled('[1]', 'ns.x + ns.x')}`],
    [`${doubled('[1]', '[ns.x, ns.x]')}`],
    [`{{ ${'('.repeat(5000)}1${')'.repeat(5000)} }}`],
    [`{{ ${'['.repeat(5000)}${']'.repeat(5000)} }}`],
    ['{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}'],
  ])('%s', (template) => {
    const start = process.cpuUsage();
    expect(() => render(template)).toThrow();
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1000).toBeLessThan(2000);
  });

  it('within the time', () => {
    const template = "{{ range(9999) | select('in', range(9999) | list) | map('string') | join | length }}";
    expect(() => runTemplate(parseTemplate(template), {}, {}, 20)).toThrow(TextLimitError);
    const spaces = ' '.repeat(100_000);
    expect(render(`${spaces}x${spaces}{%- if true %}y{% endif %}`)).toHaveLength(100_002);
  });
});

describe('strftime makes the text that Python makes', () => {
  it.each(Object.entries(written.strftime))('%s', (date, texts) => {
    const made = Object.keys(texts).map((format) => [format, strftime(new Date(date), format)]);
    expect(Object.fromEntries(made)).toEqual(texts);
  });

  it('and refuses a directive that it does not know', () => {
    expect(() => strftime(new Date(), '%Y %j')).toThrow('the date format "%j" is not supported');
  });
});
