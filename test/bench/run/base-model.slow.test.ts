import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useBenchRuns } from '../../support/bench-runs.js';
import { EngineUpstream } from '../../support/engine-upstream.js';
import { REASONER } from '../../support/golden.js';
import { sharedReasoner } from '../../support/shared-engines.js';

const { folder, run, lines } = useBenchRuns(
  ...['--limit', '12', '--temperature', '1', '--max-tokens', '24', '--score', 'all', '--measures', 'nll'],
);

/** The embedded model without its chat template. */
function baseModel(): string {
  const to = folder.path('base');
  mkdirSync(to);
  for (const name of readdirSync(REASONER))
    if (name !== 'tokenizer_config.json') symlinkSync(join(REASONER, name), join(to, name));
  const { chat_template, ...config } = JSON.parse(
    readFileSync(join(REASONER, 'tokenizer_config.json'), 'utf8'),
  );
  expect(chat_template).toBeTypeOf('string');
  writeFileSync(join(to, 'tokenizer_config.json'), JSON.stringify(config));
  return to;
}

describe('a model without a chat template', () => {
  it('goes on with worked examples, up to the end of the line', async () => {
    const model = baseModel();
    const { code, stderr } = await run('run', '--model', model, '--suite', 'questions');
    expect(code, stderr).toBe(0);
    const responses = lines('run', 'responses');
    expect(responses).toHaveLength(12);
    // The examples are read, and none is written: the text ends before them.
    for (const { promptTokens, tokenTexts } of responses) {
      expect(promptTokens).toBeGreaterThan(60);
      expect([tokenTexts].flat().join('')).not.toContain('\n');
    }
    // A right answer has no wrong step; a wrong one is one step.
    const wrong = lines('run', 'checks').filter(({ correct }) => !correct);
    expect(lines('run', 'spans').filter(({ span }) => span !== null)).toHaveLength(wrong.length);

    const engine = await sharedReasoner();
    const server = await EngineUpstream.start(engine, { logprobs: true });
    onTestFinished(() => server.close());
    const upstream = ['--upstream', server.url, '--upstream-model', 'reasoner'];
    const chat = await run('chat', '--model', model, '--suite', 'questions', ...upstream);
    expect(chat.code).toBe(1);
    expect(chat.stderr).toContain('the server takes no token ids, and --model has no chat template');
    const other = await run('other', '--model', model, '--suite', 'tasks');
    expect(other.stderr).toContain('chat_template: is missing; this model does not support chat');
  });
});
