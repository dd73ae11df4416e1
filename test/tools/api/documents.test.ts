import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { createSchema, HTTP_FIELDS, textSchema } from '#gateway/requests/generation-request.js';
import { openApi } from '#tools/api/openapi.js';

const readJson = async (file: string): Promise<unknown> => JSON.parse(await readFile(file, 'utf8'));
const { version } = JSON.parse(await readFile('package.json', 'utf8'));

describe('gateway/openapi.json', () => {
  it('is what the schemas say (npm run schemas)', async () => {
    expect(await readJson('gateway/openapi.json')).toEqual(openApi(version));
  });

  it('is OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(openApi(version));
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  });
});

describe('client/src/generation-request.ts', () => {
  it('has every field that the gateway knows, but for those of HTTP and of the message itself', async () => {
    const known = [...Object.keys(createSchema.shape), ...Object.keys(textSchema.shape)];
    const others: readonly string[] = ['type', 'request_id', ...HTTP_FIELDS];
    const fields = new Set(known.filter((name) => !others.includes(name)));
    const source = await readFile('client/src/generation-request.ts', 'utf8');
    const [, request = ''] = source.split('interface GenerationRequest');
    expect(new Set(Array.from(request.matchAll(/readonly (\w+)\??:/g), ([, name]) => name))).toEqual(fields);
  });
});
