import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { aggregate } from '#bench/steps/aggregation.js';
import { unitSetSchema } from '#lab/small-models/units.js';
import { flinch, jsonLines, lab, useFolder } from '../../support/cli.js';
import { EngineUpstream } from '../../support/engine-upstream.js';
import { REASONER } from '../../support/golden.js';
import { sharedReasoner } from '../../support/shared-engines.js';

const folder = useFolder();

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
  const lines = (file: string) => jsonLines(folder.read(file));

  it('goes on with worked examples, up to the end of the line', async () => {
    const model = baseModel();
    const run = (suite: string, out: string, ...more: string[]) =>
      flinch([
        ...['bench', 'run', '--model', model, '--suite', suite, '--out', folder.path(out)],
        ...['--limit', '12', '--temperature', '1', '--max-tokens', '24', '--score', 'all'],
        ...['--measures', 'nll', ...more],
      ]);
    const { code, stderr } = await run('questions', 'run');
    expect(code, stderr).toBe(0);
    const responses = lines('run/responses.jsonl');
    expect(responses).toHaveLength(12);
    // The examples are read, and none is written: the text ends before them.
    for (const { promptTokens, tokenTexts } of responses) {
      expect(promptTokens).toBeGreaterThan(60);
      expect([tokenTexts].flat().join('')).not.toContain('\n');
    }
    // A right answer has no wrong step; a wrong one is one step.
    const wrong = lines('run/checks.jsonl').filter(({ correct }) => !correct);
    expect(lines('run/spans.jsonl').filter(({ span }) => span !== null)).toHaveLength(wrong.length);

    const file = folder.path('units.json');
    const collected = await lab(['small-models', 'collect', folder.path('run'), '--output', file]);
    expect(collected.code, collected.stderr).toBe(0);
    const [set] = z.array(unitSetSchema).parse(JSON.parse(readFileSync(file, 'utf8')));
    const whole = responses.filter(({ finish }) => finish === 'stop');
    expect(set).toMatchObject({ task: 'questions', answers: 12, truncated: 12 - whole.length });
    expect(set!.units).toHaveLength(whole.length);
    const sum = set!.columns.findIndex(([measure, how]) => measure === 'nll' && how === 'sum');
    const asked = lines('run/problems.jsonl')[Number(set!.units[0]![0])];
    const record = lines('run/scores.jsonl').find(({ id }) => id === asked!.id);
    const { nll } = z.object({ nll: z.array(z.number()) }).parse(record!.tokens);
    expect(set!.units[0]![2 + sum]).toBeCloseTo(aggregate('sum', nll), 2);

    const told = await run('questions', 'told', '--system', 'Be brief.');
    expect([told.code, told.stderr]).toEqual([1, 'flinch: --system: the model has no chat template\n']);
    const engine = await sharedReasoner();
    const server = await EngineUpstream.start(engine, { logprobs: true });
    onTestFinished(() => server.close());
    const upstream = ['--upstream', server.url, '--upstream-model', 'reasoner'];
    const chat = await run('questions', 'chat', ...upstream);
    expect(chat.code).toBe(1);
    expect(chat.stderr).toContain('the server takes no token ids, and --model has no chat template');
    const other = await run('tasks', 'other');
    expect(other.stderr).toContain('chat_template: is missing; this model does not support chat');
  });
});
