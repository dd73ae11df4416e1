import { describe, expect, it } from 'vitest';
import { parseGenerationConfig } from '#src/checkpoint/generation-config.js';
import { json, modelError, REASONER } from '../support/graphs.js';

const SILENT = { eosTokenIds: null, sample: false, temperature: null, topK: null, topP: null };

describe('parseGenerationConfig', () => {
  it('reads the embedded model', async () => {
    const raw = await json(REASONER, 'generation_config.json');
    expect(parseGenerationConfig(raw, 'generation_config.json')).toEqual({
      ...SILENT,
      eosTokenIds: [2, 0],
      sample: true,
      temperature: 0.2,
    });
  });

  it.each([
    ['a missing file', undefined, SILENT],
    ['an empty file', {}, SILENT],
    ['nulls', { eos_token_id: null, do_sample: null, temperature: null, top_k: null, top_p: null }, SILENT],
    ['one end token', { eos_token_id: 2 }, { ...SILENT, eosTokenIds: [2] }],
    ['no end tokens, which says nothing', { eos_token_id: [] }, SILENT],
    ['limits', { top_k: 20, top_p: 0.8 }, { ...SILENT, topK: 20, topP: 0.8 }],
    ['top_k 0, which is no limit', { top_k: 0 }, SILENT],
  ])('reads %s', (_, raw, expected) => {
    expect(parseGenerationConfig(raw, 'generation_config.json')).toEqual(expected);
  });

  it.each([
    ['no object', null, ''],
    ['a negative temperature', { temperature: -1 }, 'temperature'],
    ['a probability above 1', { top_p: 1.5 }, 'top_p'],
    ['half a token', { top_k: 0.5 }, 'top_k'],
    ['an end token that is no id', { eos_token_id: 'x' }, 'eos_token_id'],
    ['a word for yes', { do_sample: 'yes' }, 'do_sample'],
  ])('refuses %s', async (_, raw, field) => {
    const error = await modelError(() => parseGenerationConfig(raw, 'generation_config.json'));
    expect(error).toMatchObject({ file: 'generation_config.json', field });
  });
});
