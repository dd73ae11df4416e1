import { describe, expect, it } from 'vitest';
import { normalForm, sameNormalForm } from '#bench/answers/normal-form.js';

describe('normalForm', () => {
  it.each([
    ['newlines', 'a\nb', 'ab'],
    ['negative spaces', '10,\\!000', '10,000'],
    ['double backslashes', 'a\\\\b', 'a\\b'],
    ['sizes of fractions', '\\tfrac{1}{2}+\\dfrac{1}{3}', '\\frac{1}{2}+\\frac{1}{3}'],
    ['sizes of brackets', '\\left(1\\right)', '(1)'],
    ['degrees', '90^\\circ+45^{\\circ}', '90+45'],
    ['dollars', '\\$5', '5'],
    ['units, which are what follows', '5\\text{ cm} and more', '5'],
    ['signs of percent', '50\\%', '50'],
    ['zeros before the point', '.5x+ .5+\\frac{.5}{2}', '0.5x+0.5+\\frac{0.5}{2}'],
    ['a short name', 'x=5', '5'],
    ['a name and a space', 'k =5', '5'],
    ['roots', '\\sqrt3+\\sqrt{4}', '\\sqrt{3}+\\sqrt{4}'],
    ['spaces', '1 + 2', '1+2'],
    ['fractions of two digits', '\\frac12+\\frac1{72}+\\frac{3}4', '\\frac{1}{2}+\\frac{1}{72}+\\frac{3}4'],
    ['a half', '0.5', '\\frac{1}{2}'],
    ['a fraction with a slash', '-3/4', '\\frac{-3}{4}'],
  ])('takes care of %s', (_, answer, expected) => {
    expect(normalForm(answer)).toBe(expected);
  });

  it.each([
    ['a long name', 'abc=5'],
    ['two equations', 'x=y=5'],
    ['a slash between other things', 'a/b'],
    ['a slash between numbers with zeros before them', '03/4'],
    ['a text without a space', '5\\text{cm}'],
    ['a fraction that stops too early', '\\frac1'],
    ['0.50', '0.50'],
  ])('leaves %s as it is', (_, answer) => {
    expect(normalForm(answer)).toBe(answer);
  });

  it.each(['5\\text{ cm}\\text{ m}', 'x\\sqrt', 'x\\frac'])(
    'cannot read %s, which is the same as itself only',
    (answer) => {
      expect(normalForm(answer)).toBeNull();
      expect(sameNormalForm(answer, answer)).toBe(true);
      expect(sameNormalForm(answer, ` ${answer}`)).toBe(false);
    },
  );
});
