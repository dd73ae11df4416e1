import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { Alignment } from '#gateway/upstream/alignment/alignment.js';
import { VocabularyMismatch } from '#gateway/upstream/alignment/id-alignment.js';
import type { UpstreamPiece } from '#gateway/upstream/upstream.js';
import { openCheckpoint } from '#src/index.js';
import { Detokenizer } from '#src/tokenizer/detokenizer.js';
import { Tokenizer } from '#src/tokenizer/tokenizer.js';
import { checkpointFolder } from '../../../support/golden.js';
import { sentencePiece } from '../../../support/graphs.js';

let tokenizer: Tokenizer;
let end: number;
beforeAll(async () => {
  const checkpoint = await openCheckpoint(checkpointFolder('tiny-llama'));
  tokenizer = checkpoint.tokenizer;
  end = checkpoint.eosTokenIds[0]!;
});

/** Tokens that need not be those that the text would be encoded in. */
const ids = fc.array(fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 636 })), {
  maxLength: 40,
});
/** As they are written: bytes that never make a character are none of a server's text. */
const written = () => ids.filter((some) => !tokenizer.decode(some).includes('\ufffd'));

/** The text that each token adds, as the engine says it. */
function textsOf(some: readonly number[]): string[] {
  const detokenizer = new Detokenizer(tokenizer);
  return some.map((id) => detokenizer.push(id));
}

function align(pieces: readonly UpstreamPiece[], continues = false) {
  const alignment = new Alignment(tokenizer, continues);
  return [...pieces.flatMap((piece) => alignment.push(piece)), ...alignment.end()];
}

const untold = (text: string, some: readonly number[] | null = null): UpstreamPiece => ({
  text,
  tokens: null,
  ids: some,
});
const token = (id: number | null, text: string, logprob = -1) => ({
  id,
  text,
  logprob,
  topLogprobs: [],
});
const idsOf = (tokens: readonly { readonly id: number | null }[]) => tokens.map(({ id }) => id);
const textOf = (tokens: readonly { readonly text: string }[]) => tokens.map(({ text }) => text).join('');

describe('Alignment', () => {
  it('gives each id its text, however far the text is behind', () => {
    fc.assert(
      fc.property(written(), fc.array(fc.nat(6), { minLength: 60, maxLength: 60 }), (some, cuts) => {
        const text = tokenizer.decode(some);
        const characters = Array.from(text);
        // All ids with their first bit of text, and the text in parts that end anywhere.
        let at = 0;
        const parts = cuts.map((size, i) => {
          const part = characters.slice(at, at + size).join('');
          at += size;
          return untold(part, i === 0 ? some : null);
        });
        const tokens = align([...parts, untold(characters.slice(at).join('')), untold('', [end])]);
        const texts = textsOf(some);
        const last = texts.findLastIndex((own) => own !== '') + 1;
        expect(idsOf(tokens)).toEqual(some.slice(0, last));
        expect(tokens.map((one) => one.text)).toEqual(texts.slice(0, last));
      }),
    );
  });

  it('takes ids and log-probabilities of described tokens as they are', () => {
    const [a, b] = tokenizer.encode('Maya has');
    const tokens = align([
      { text: 'Maya', tokens: [token(a!, 'Maya', -0.5)], ids: null },
      { text: ' has', tokens: [token(b!, ' has', -0.25)], ids: null },
    ]);
    expect(tokens).toEqual([
      { id: a, text: 'Maya', logprob: -0.5, topLogprobs: [] },
      { id: b, text: ' has', logprob: -0.25, topLogprobs: [] },
    ]);
  });

  it('takes over a log-probability only for a token that the server has too', () => {
    const tokens = align([
      { text: 'Maya', tokens: [token(null, 'Maya', -0.5)], ids: null },
      { text: ' has', tokens: [token(null, ' h', -0.25), token(null, 'as', -0.75)], ids: null },
      { text: ' 1', tokens: [token(null, ' ', -1.5), token(null, '1', -2)], ids: null },
    ]);
    expect(idsOf(tokens)).toEqual(tokenizer.encode('Maya has 1'));
    expect(tokens.map(({ logprob }) => logprob)).toEqual([-0.5, null, -1.5, -2]);
  });

  it('tokenises what llama.cpp does not describe: a character of several tokens, of which it has the last', () => {
    const some = tokenizer.encode('🎉');
    expect(some.length).toBeGreaterThan(1);
    const tokens = align([
      { text: 'Maya', tokens: [token(tokenizer.encode('Maya')[0]!, 'Maya')], ids: null },
      { text: '🎉', tokens: [token(some.at(-1)!, '🎉')], ids: null },
    ]);
    expect(idsOf(tokens)).toEqual(tokenizer.encode('Maya🎉'));
  });

  it('tokenises the same of text that llama.cpp held back because a stop string may have begun', () => {
    const some = tokenizer.encode('Maya has 1');
    const tokens = align([{ text: 'Maya has 1', tokens: [token(some.at(-1)!, 'Maya has 1')], ids: null }]);
    expect(idsOf(tokens)).toEqual(some);
  });

  it('keeps of a described token what a stop string left, after which nothing may come', () => {
    const [id = 0] = tokenizer.encode('Maya');
    const cut = { text: 'Ma', tokens: [token(id, 'Ma', -0.5)], ids: null };
    expect(align([cut])).toEqual([{ id, text: 'Ma', logprob: -0.5, topLogprobs: [] }]);
    expect(() => align([cut, untold(' has')])).toThrow(VocabularyMismatch);
  });

  it('drops what a stop string cut off, and keeps of its first token what stayed', () => {
    const some = tokenizer.encode('Maya has 1');
    const tokens = align([untold('', some), untold('Maya ha')]);
    expect(textOf(tokens)).toBe('Maya ha');
    expect(idsOf(tokens)).toEqual(some.slice(0, 2));
  });

  it.each([
    ['an id that the scorer does not have', [untold('a', [100_000])]],
    ['ids that spell another text', [untold('Maya', [1, 2])]],
    ['more text than its ids spell', [untold('Maya', [42, 43])]],
    ['described tokens that spell another text', [{ text: 'Maya', tokens: [token(3, 'Maya')], ids: null }]],
  ])('never scores another vocabulary: %s', (_name, pieces) => {
    expect(() => align(pieces)).toThrow(VocabularyMismatch);
  });

  it('knows no id of what follows hidden tokens, and loses nothing of the text', () => {
    // The id of the mark that begins them came with no text.
    const pieces: UpstreamPiece[] = [untold('', [3]), { ...untold(''), hidden: true }, untold('a')];
    expect(align(pieces)).toEqual([{ id: null, text: 'a', logprob: null, topLogprobs: [] }]);
  });

  it('scores what follows a part whose tokens spell what the server says they do, and nothing otherwise', () => {
    const said = tokenizer.encode('Maya has 5');
    const [thought, rest] = [said.slice(0, 2), said.slice(2)];
    const texts = textsOf(said);
    const part = 'reasoning' as const;
    const own = thought.map((id, i) => ({ ...token(id, texts[i]!), part }));
    const answer = rest.map((id, i) => token(id, texts[i + 2]!));
    const spelt = textOf(own);
    const after: UpstreamPiece = { text: textOf(answer), tokens: answer, ids: null };
    const good = align([{ text: '', tokens: own, ids: null, spelt }, after]);
    expect(good).toEqual([...own, ...answer]);
    // What the text has of its first token is less than that spells.
    const cut = { ...answer[0]!, text: answer[0]!.text.slice(1) };
    const begun: UpstreamPiece = { text: cut.text, tokens: [cut], ids: null, spelt: answer[0]!.text };
    expect(align([begun])).toEqual([cut]);

    const unknown = answer.map((each) => ({ ...each, id: null }));
    const bad: UpstreamPiece[] = [
      { text: '', tokens: own, ids: null, spelt: 'Otherwise' },
      { text: '', tokens: own.map((each) => ({ ...each, id: null })), ids: null, spelt },
    ];
    for (const piece of bad) {
      const tokens = align([piece, after]);
      expect(idsOf(tokens)).toEqual(said.map(() => null));
      expect(tokens.slice(2)).toEqual(unknown);
    }
  });

  it('takes a character of a part that is of several tokens', () => {
    const some = tokenizer.encode('é🐱');
    const texts = textsOf(some);
    expect(texts).toContain('');
    const own = some.map((id, i) => ({ ...token(id, texts[i]!), part: 'reasoning' as const }));
    expect(align([{ text: '', tokens: own, ids: null, spelt: 'é🐱' }])).toEqual(own);
  });

  it('knows that some servers show the space which SentencePiece puts before a text', () => {
    const spm = new Tokenizer(sentencePiece(), {}, 'tokenizer.json');
    const some = spm.encode('hello hello');
    for (const text of ['hello hello', ' hello hello']) {
      for (const pieces of [
        [untold(text, some)],
        [{ text, tokens: [token(some[0]!, text.slice(0, -6)), token(some[1]!, ' hello')], ids: null }],
        [untold(text)],
      ]) {
        const alignment = new Alignment(spm, false);
        const tokens = [...pieces.flatMap((piece) => alignment.push(piece)), ...alignment.end()];
        expect(idsOf(tokens)).toEqual(some);
        expect(textOf(tokens)).toBe(text);
      }
    }
  });
});
