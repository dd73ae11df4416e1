import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PeerServer } from '#lab/peers/server.js';
import { needsServer, startServer } from '../support/peers.js';
import {
  LLAMA_CPP,
  type Recording,
  record,
  recordings,
  stable,
  THINKING_TEMPLATE,
  VLLM,
  writeRecording,
} from '../support/recordings.js';

/** FLINCH_RECORD=1 writes what the server answers, instead of comparing it. */
const writes = process.env.FLINCH_RECORD === '1';

/** Without llama.cpp's times, and without how much of a prompt was known from the test before. */
const withoutTimes = (made: Recording): Recording => ({
  ...made,
  body: made.body
    .replaceAll(/"timings":\{[^}]*?"predicted_n":(\d+)[^}]*\}/g, '"timings":{"predicted_n":$1}')
    .replaceAll(/"cached_tokens":\d+/g, '"cached_tokens":0'),
});

// The other recordings of llama.cpp are of a model that is gone.
describe.each([
  // All is reasoning until the model ends it, which it does not.
  ['vllm', VLLM, ['--reasoning-parser', 'olmo3'], /^reasoning$/],
  ['vllm', VLLM, [], /^(?!reasoning$)/],
  ['llama-cpp', LLAMA_CPP, ['--threads', '1'], /^chat-of-characters$/],
  ['llama-cpp', LLAMA_CPP, ['--threads', '1', '--chat-template-file', THINKING_TEMPLATE], /^reasoning/],
] as const)('%s of %s, started with %j', (name, folder, args, names) => {
  const { missing, reason } = needsServer(name, 'smollm2');
  let server: PeerServer;
  beforeAll(async () => {
    if (!missing) server = await startServer(name, 'smollm2', args);
  });
  afterAll(() => server?.close());

  const known = Object.entries(recordings(folder)).filter(([each]) => names.test(each));
  test.skipIf(missing).for(known)(`answers as was recorded: %s${reason}`, async ([each, recording]) => {
    const made = await record(new URL(server.url).origin, recording.request);
    if (writes) return writeRecording(folder, each, made);
    expect(stable(withoutTimes(made))).toBe(stable(withoutTimes(recording)));
  });
});
