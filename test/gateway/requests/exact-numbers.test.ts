import { describe, expect, it } from 'vitest';
import {
  ExactNumber,
  exactOf,
  jsonText,
  withExactFields,
  withExactNumbers,
  withFields,
} from '#gateway/requests/exact-numbers.js';
import { chatSchema, parse } from '#gateway/requests/generation-request.js';
import { parseJsonText } from '#gateway/requests/request-text.js';

const throughout = (json: string): string => jsonText(withExactNumbers(json, JSON.parse(json)));

/** Numbers as JSON may have them (RFC 8259, section 6), by a generator with a seed. */
function* numbers(count: number): Generator<string> {
  let state = 64;
  const below = (most: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  const digits = (most: number): string => Array.from({ length: 1 + below(most) }, () => below(10)).join('');
  for (let i = 0; i < count; i++) {
    const whole = below(3) === 0 ? '0' : `${1 + below(9)}${below(2) === 0 ? '' : digits(24)}`;
    const fraction = below(2) === 0 ? '' : `.${digits(24)}`;
    const exponent = below(4) === 0 ? `${'eE'[below(2)]}${['', '+', '-'][below(3)]}${digits(3)}` : '';
    yield `${below(3) === 0 ? '-' : ''}${whole}${fraction}${exponent}`;
  }
}

describe('numbers of a JSON text', () => {
  it('keep their digits', () => {
    const named = [
      '9223372036854775807',
      '1.10',
      '1e400',
      '-1E-400',
      '0.0000001',
      '-0',
      '0.0',
      '1e5',
      '-9999.0',
    ];
    for (const number of [...named, ...numbers(5000)]) {
      const json = `{"a":${number},"b":[{"c":[${number},"${number}"]}],"__proto__":${number}}`;
      expect(throughout(json)).toBe(json);
    }
  });

  it('are as JSON.parse has them where that is what would be written', () => {
    const json = '{"a":[1,-2.5,0,1e+21,5e-324,0.1,"1.0","\\"2.0","\\\\"],"1.0":{}}';
    const plain: unknown = JSON.parse(json);
    expect(withExactNumbers(json, plain)).toBe(plain);
  });

  it('are their values where nobody asks for digits', () => {
    const exact: unknown = withExactNumbers('[1.10]', [1.1]);
    expect(exact).toEqual([new ExactNumber('1.10')]);
    expect(JSON.stringify(exact)).toBe('[1.1]');
  });
});

it('fields of a text are set, and all others stay as they are', () => {
  const set = (json: string) => withFields(json, { id: 'a', usage: undefined, flinch: { n: 1 } });
  expect(set('{}')).toBe('{"id":"a","flinch":{"n":1}}');
  const rest = ' "x" :\n[1.10,{"id":"b,}"}],"\\u0069":"i" ,"__proto__":{"usage":0}';
  expect(set(`{"id":{"y":[","]},${rest},"usage":null,"\\u0069d":7\n}`)).toBe(
    `{"id":"a","flinch":{"n":1},${rest.replace('\n', ' ')}}`,
  );
});

describe('the fields of a request', () => {
  const request = (fields: string) =>
    parse(
      chatSchema,
      parseJsonText(`{"model":"m","messages":[{"role":"user","content":"a"}],${fields}}`, 'body'),
    );

  it('are sent with the digits that came, unless they were changed', () => {
    const asked = request('"seed":9223372036854775807,"temperature":1.10,"x":{"y":[1e400]},"top_p":1.0');
    expect(asked.seed).toBe(2 ** 63);
    const { messages: _, ...fields } = { ...asked, top_p: 0.5 };
    expect(jsonText(withExactFields(fields, exactOf(asked)))).toBe(
      '{"model":"m","temperature":1.10,"top_p":0.5,"guard":{},"seed":9223372036854775807,"x":{"y":[1e400]}}',
    );
  });

  it.each(['"seed":1.5', '"seed":1e400', '"seed":"7"'])('are refused by name: %s', (fields) => {
    expect(() => request(fields)).toThrow(/^seed: /);
  });
});
