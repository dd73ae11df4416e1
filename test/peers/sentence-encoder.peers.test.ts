import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openEncoders } from '#bench/encoder/encoders.js';
import { openPairTokenizer } from '#bench/encoder/pair-tokenizer.js';
import { peersFolder, pythonOf } from '#lab/peers/peers-folder.js';
import { needs } from '../support/peers.js';

const MINILM = join(peersFolder(), 'models', 'minilm');
const { missing, reason } = needs(
  pythonOf('polygraph'),
  join(MINILM, 'modules.json'),
  join(MINILM, 'onnx', 'model.onnx'),
);

const PIECES =
  `The train leaves at 7:45 and arrives 3.5 hours later|So, x = 2|\\frac{a}{b} \\le 10^{-3}|I don't know|
Paris is the capital of France.|ÉCOLE café naïve Ångström|Straße|東京は日本の首都です|서울|Привет, мир!|مرحبا بالعالم|שלום|
नमस्ते|🙂👩‍👩‍👧🇫🇷|“quotes” — and…|1,234,567.89|a\tb\r\nc|\u00a0\u200b\u00ad|[MASK] [SEP] [CLS]|[PAD]|##ing|
https://example.org/a?b=c&d=1|snake_case CamelCase|supercalifragilisticexpialidocious|ﬁ ligature ① ²|e\u0301 İ ı|
\u0000\u0007|\ufffd|$5 + 5% = ?|(((|'s n't|`
    .replaceAll('\n', '')
    .split('|');

/** Pieces joined at random; every tenth is longer than the model's 256 tokens. */
function textsOf(count: number): string[] {
  const random = mersenne(1);
  return Array.from({ length: count }, (_, i) => {
    const pieces = i % 10 === 9 ? 100 : uniformInt(random, 1, 6);
    const drawn = Array.from({ length: pieces }, () => PIECES[uniformInt(random, 0, PIECES.length - 1)]!);
    return drawn.join(' ');
  });
}

test.skipIf(missing)(`MiniLM gives the tokens and embeddings of sentence-transformers${reason}`, async () => {
  const texts = textsOf(200);
  const script = fileURLToPath(new URL('embed.py', import.meta.url));
  const input = JSON.stringify(texts);
  const output = execFileSync(pythonOf('polygraph'), [script, MINILM], {
    input,
    maxBuffer: 2 ** 28,
  }).toString();
  const rows = z.array(z.object({ tokens: z.array(z.int()), embedding: z.array(z.number()) }));
  const expected = rows.parse(JSON.parse(output));
  expect(expected.filter(({ tokens }) => tokens.length === 256).length).toBeGreaterThan(10);

  const tokenizer = await openPairTokenizer(MINILM, 256);
  expect(texts.map((text) => tokenizer.encode([text]).ids)).toEqual(expected.map(({ tokens }) => tokens));

  const { embed, close } = await openEncoders({ sentence: MINILM });
  onTestFinished(close);
  const found = await embed!(texts);
  const differences = found.flatMap((row, i) => row.map((x, d) => Math.abs(x - expected[i]!.embedding[d]!)));
  // Of float32 in another order of sums; the numbers are about 0.05 large.
  expect(Math.max(...differences)).toBeLessThan(2e-6);
});
