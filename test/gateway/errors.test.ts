import { describe, expect, it } from 'vitest';
import { toApiError } from '#gateway/errors/api-error.js';
import { EngineError, ModelError } from '#src/index.js';

const messageOf = (error: Error): string => toApiError(error).message;

describe('an error of a model', () => {
  it('names the file to clients, and not where it lies', () => {
    const cause = "ENOENT: no such file or directory, open '/srv/secret models/m/config.json'";
    const file = '/srv/secret models/m/config.json';
    expect(messageOf(new ModelError(file, 'vocab_size', 'is missing'))).toBe(
      'config.json: vocab_size: is missing',
    );
    expect(messageOf(new ModelError(file, '', `cannot be read (${cause})`))).toBe(
      "config.json: cannot be read (ENOENT: no such file or directory, open 'config.json')",
    );
  });

  it('says of an engine that does not start nothing of the machine', () => {
    const error = new EngineError('unavailable', 'the decode process could not be started: /srv/m/x.bin');
    expect(toApiError(error)).toMatchObject({
      status: 503,
      body: {
        code: 'engine_unavailable',
        message: 'the engine is not running; it is started again as soon as possible',
      },
    });
  });

  it('leaves of a computation that failed the reason, without folders', () => {
    const reason = 'generation failed: Error: load "/srv/m/x.safetensors" at C:\\models\\y.bin and a/b/c';
    expect(messageOf(new EngineError('failed', reason))).toBe(
      'generation failed: Error: load "x.safetensors" at y.bin and a/b/c',
    );
  });
});

describe('an error of Express', () => {
  const failed = (status: number, fields = {}): unknown =>
    Object.assign(new Error('it failed'), { status, ...fields });

  it.each([
    ['a body that is too large', failed(413, { type: 'entity.too.large' }), 413, 'body_too_large'],
    ['a range that a file does not have', failed(416), 416, 'invalid_request'],
    ['a path that cannot be decoded', failed(400), 400, 'invalid_request'],
    ['a fault', failed(500), 500, 'internal_error'],
  ])('has its status: %s', (_what, error, status, code) => {
    expect(toApiError(error)).toMatchObject({ status, body: { code } });
  });
});
