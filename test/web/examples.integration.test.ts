import { expect, it } from 'vitest';
import { CAUGHT, MISSED } from '#web/ask/examples.js';
import { chatBody, post, useGateway } from '../support/gateway.js';

const gateway = useGateway();

/** Of ten answers at the page's defaults, those that are right, and those with a flagged step. */
async function tenOf(question: string, result: string) {
  const answers = await Promise.all(
    Array.from({ length: 10 }, async (_, seed) => {
      const messages = [{ role: 'user', content: question }];
      const response = await post(gateway.url, chatBody({ messages, seed, temperature: undefined }));
      const { choices, flinch } = await response.json();
      return { text: String(choices[0].message.content), flagged: flinch.flagged.length > 0 };
    }),
  );
  const right = answers.filter(({ text }) => text.endsWith(`Answer: ${result}.`)).length;
  return { right, flagged: answers.filter(({ flagged }) => flagged).length };
}

it('the first example is answered wrong, and the mistake is caught', async () => {
  const { right, flagged } = await tenOf(CAUGHT, '3186');
  expect(right).toBe(0);
  expect(flagged).toBeGreaterThanOrEqual(9);
});

it('the second is answered wrong, and is not caught, as its name says', async () => {
  const { right, flagged } = await tenOf(MISSED, '341');
  expect(right).toBe(0);
  expect(flagged).toBeLessThanOrEqual(1);
});
