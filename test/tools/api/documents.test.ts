import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { createSchema, HTTP_FIELDS, textSchema } from '#gateway/requests/generation-request.js';
import { eventTypes, generationRequestType, guardRequestType } from '#tools/api/client-types.js';
import { methodList } from '#tools/api/method-list.js';
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

describe('client/src/client-methods.ts', () => {
  it('is the list of the library (npm run schemas)', async () => {
    expect(await readFile('client/src/client-methods.ts', 'utf8')).toBe(methodList());
  });
});

describe('client/src/guard-request.ts', () => {
  it('is what the schema of the guard says (npm run schemas)', async () => {
    expect(await readFile('client/src/guard-request.ts', 'utf8')).toBe(guardRequestType());
  });
});

describe('client/src/client-request.ts', () => {
  it('is what the schemas of requests say (npm run schemas)', async () => {
    expect(await readFile('client/src/client-request.ts', 'utf8')).toBe(generationRequestType());
  });

  it('has every field that the gateway knows, but for those of HTTP and of the message itself', () => {
    const known = [...Object.keys(createSchema.shape), ...Object.keys(textSchema.shape)];
    const others: readonly string[] = ['type', 'request_id', ...HTTP_FIELDS];
    const fields = new Set(known.filter((name) => !others.includes(name)));
    const [, request = ''] = generationRequestType().split('interface GenerationRequest');
    expect(new Set(Array.from(request.matchAll(/readonly (\w+)\??:/g), ([, name]) => name))).toEqual(fields);
  });
});

describe('client/src/event-types.ts', () => {
  it('is what the schemas of the events say (npm run schemas)', async () => {
    expect(await readFile('client/src/event-types.ts', 'utf8')).toBe(eventTypes());
  });
});
