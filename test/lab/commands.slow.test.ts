import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lab, startLab, useFolder } from '../support/cli.js';
import { checkpointFolder } from '../support/golden.js';

/** Runs the command in this process. */
async function run(args: readonly string[]) {
  const { code, stdout, stderr } = await lab([...args]);
  return { code, output: stdout + stderr };
}

const { path } = useFolder();

describe('npm run lab', () => {
  it('shows its commands, and for each its options and an example', async () => {
    const commands = ['speed', 'checkpoint', 'schedules', 'soak'];
    const help = async (args: readonly string[]): Promise<string> => (await run(args)).output;
    const [all, ...each] = await Promise.all(
      [[], ...commands.map((name) => [name])].map((args) => help([...args, '--help'])),
    );
    for (const [i, command] of commands.entries()) {
      expect(all).toContain(`\n  ${command}`);
      expect(each[i]).toContain('--output');
      expect(each[i]).toMatch(/Examples?:\n {2}\$ npm run lab -- /);
    }
  });

  it('refuses what it does not know', async () => {
    expect((await run(['checkpoint', '70b'])).output).toContain('135m-fp32');
    expect((await run(['checkpoint', '--sections', 'speed'])).output).toContain('"speed" is not one');
  });

  it('measures a checkpoint, section by section', async () => {
    const output = path('checkpoint.json');
    const args = [
      'checkpoint',
      '--model',
      checkpointFolder('tiny-llama'),
      '--rounds',
      '1',
      '--output',
      output,
    ];
    const sections = ['--sections', 'memory,decode,passes,lengths,conversation'];
    const { code, output: text } = await run([...args, ...sections]);
    expect({ code, text }).toMatchObject({
      code: 0,
      text: expect.stringContaining('one row times each weight'),
    });
    const report = JSON.parse(readFileSync(output, 'utf8'));
    expect(Object.keys(report)).toEqual(expect.arrayContaining(['memory', 'decode', 'passes', 'lengths']));
    expect(report).not.toHaveProperty('streams');
    expect(report.decode.bytesPerSecond).toBeCloseTo(
      report.decode.tokensPerSecond * report.decode.bytesPerToken,
    );
    expect(report.conversation).toMatchObject({ addedTokens: 40, next: { runs: 1 } });
    expect(text).not.toContain('NaN');
  });

  it('leaves no checkpoint behind when it is interrupted', async () => {
    const folder = path('temporary');
    mkdirSync(folder);
    const { child, finished } = startLab(['checkpoint', 'small-fp32'], '', { TMPDIR: folder });
    const checkpoints = () => readdirSync(folder);
    while (checkpoints().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill('SIGINT');
    expect((await finished).code).toBe(130);
    expect(checkpoints()).toEqual([]);
  });

  it('keeps the samples of a soak as it goes', async () => {
    const output = path('soak.json');
    const args = ['soak', '--minutes', '0.02', '--every', '0.1', '--users', '2', '--output', output];
    const { code, output: text } = await run(args);
    expect(code).toBe(0);
    expect(text).toContain('0 restarts');
    const { samples, counts } = JSON.parse(readFileSync(output, 'utf8'));
    expect(samples.length).toBeGreaterThan(0);
    expect(counts.tokens).toBeGreaterThan(0);
  });
});
