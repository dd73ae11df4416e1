import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { flinch, type Outcome, start, startProgram } from '../support/cli.js';
import { fixture } from '../support/graphs.js';
import { isAlive } from '../support/process.js';

describe('flinch', () => {
  it('shows its commands, and for each its options and an example', async () => {
    const { stdout } = await flinch(['--help']);
    expect(stdout).toContain('Exit codes: 1 for an error, 2 for a command line');
    for (const command of ['serve', 'chat', 'score', 'doctor']) {
      expect(stdout).toContain(command);
      const help = (await flinch([command, '--help'])).stdout;
      expect(help).toContain('Options:');
      expect(help).toMatch(/Examples?:\n {2}\$ /);
    }
  });

  it.each<[string[], string]>([
    [['scor'], "unknown command 'scor'"],
    [['serve', '--prt', '1'], "unknown option '--prt'"],
    [['serve', '--port', 'many'], 'Must be a whole number'],
    [['inspect', 'models/reasoner'], "unknown command 'inspect'"],
    [['score'], "missing required argument 'file'"],
    [['data', 'lst'], "unknown command 'lst'"],
    [['bench', 'run'], "required option '--out <folder>'"],
  ])('refuses %j, and exits with 2', async (args, message) => {
    const refused = { code: 2, stdout: '', stderr: expect.stringContaining(message) };
    expect(await flinch(args)).toMatchObject(refused);
  });

  it.each([
    ['chat', 'model temperature json action rate', ['Guard:', 'Model and answer:']],
    [
      'serve',
      'model upstream upstream-model port config',
      ['The model of --model or --upstream:', 'Network:', 'Other:'],
    ],
    ['calibrate', 'model input temperature output check', ['Model and answers:', 'Labels of answers:']],
    ['score', 'model top output json device', []],
    [
      'bench run',
      'questions model out plan json',
      ['Problems:', 'Responses:', 'Evaluation:', 'Claims, of factscore:', 'Work:'],
    ],
  ])('has the five options of %s that a newcomer needs before others', async (command, five, more) => {
    const { stdout } = await flinch([...command.split(' '), '--help']);
    const headings = ['Options:', ...more, 'For research:'];
    const [options = ''] = stdout.split(/\nExamples:|\nSettings of |\nInput line|\nYour own/);
    expect(options.match(/^[A-Z].*:$/gm)?.filter((heading) => heading !== 'Arguments:')).toEqual(headings);
    expect(
      Array.from(options.matchAll(/^ {2}--([\w-]+)/gm), ([, name]) => name)
        .slice(0, 5)
        .join(' '),
    ).toBe(five);
  });

  it('fits the help of every command into 80 columns', async () => {
    const helps = [
      '',
      'serve',
      'chat',
      'score',
      'calibrate',
      'doctor',
      'pull',
      'export triton',
      'bench run',
      'bench escalate',
      'bench vote',
    ];
    for (const command of helps) {
      const { stdout } = await flinch([...command.split(' ').filter(Boolean), '--help']);
      expect(stdout.split('\n').filter(({ length }) => length > 80)).toEqual([]);
    }
  });

  it('exits with 2 as a process, with 1 for other errors, and with 0 after its help', async () => {
    const codes = [['scor'], ['doctor', '/nowhere'], ['serve', '--help'], ['--version']].map(
      async (args) => (await start(args).finished).code,
    );
    expect(await Promise.all(codes)).toEqual([2, 1, 0, 0]);
  });
});

describe('flinch serve', () => {
  const address = async (stdout: () => string): Promise<string> => {
    for (;;) {
      const [url] = /http:\S+/.exec(stdout()) ?? [];
      if (url) return url;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  it('hears a SIGTERM that comes in the moment in which it says that it serves', async () => {
    const preload = `
      import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      const { write } = fs;
      fs.write = (fd, data, ...rest) => {
        if (String(data).includes('Ctrl-C')) process.kill(process.pid, 'SIGTERM');
        return write(fd, data, ...rest);
      };
      for (const symbol of Object.getOwnPropertySymbols(write)) fs.write[symbol] = write[symbol];
      syncBuiltinESMExports();`;
    const options = `--import=data:text/javascript,${encodeURIComponent(preload)}`;
    const running = start(['serve', '--port', '0', '--log-level', 'silent'], '', { NODE_OPTIONS: options });
    onTestFinished(() => void running.child.kill('SIGKILL'));
    const { code, stdout } = await running.finished;
    expect(stdout).toContain('reasoner on cpu');
    expect(code).toBe(0);
  });

  it('serves where --port or PORT says, and leaves nothing behind at SIGTERM', async () => {
    const running = start(['serve', '--log-level', 'silent'], '', { PORT: '0' });
    const url = await address(running.stdout);
    expect(url).not.toContain(':8787');
    expect(running.stdout()).toContain('model  reasoner on cpu');
    const pids = await enginePids(url);
    running.child.kill('SIGTERM');
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' });
    expect(pids.map(isAlive)).toEqual([false, false]);
  });

  it('ends with `npm start`, which runs it', async () => {
    const running = startProgram('npm', ['start', '--', '--port', '0', '--log-level', 'silent'], null, {});
    const pids = await enginePids(await address(running.stdout));
    running.child.kill('SIGTERM');
    await running.finished;
    await expect.poll(() => pids.map(isAlive), { timeout: 5000 }).toEqual([false, false]);
  });

  it('says that the port is taken, before it opens a model', async () => {
    const running = start(['serve', '--port', '0', '--log-level', 'silent']);
    const { port } = new URL(await address(running.stdout));
    expect(await flinch(['serve', '--port', port, '--model', '/no/such/model'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^flinch: \S+: flinch answers there already; .* with --port\n$/),
    });
    const { stderr } = await flinch(['serve', '--port', '0', '--metrics-port', port]);
    expect(stderr).toMatch(/flinch answers there already; .* with --metrics-port\n$/);
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(0);
  });

  it.each(['serve', 'doctor'])('takes the model of flinch %s with --model and without', async (command) => {
    const tail = command === 'serve' ? ['--check-config'] : ['--port', '0'];
    const model = fixture('tiny-llama');
    const named = await flinch([command, model, ...tail]);
    expect(named).toMatchObject({ code: 0, stdout: expect.stringContaining(model) });
    const option = await flinch([command, '--model', model, ...tail]);
    const rows = ({ stdout }: Outcome) => stdout.split('\n').filter((row) => row.includes(model));
    expect(rows(option)).toEqual(rows(named));
    const twice = await flinch([command, model, '--model', model]);
    expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining('--model names one already.') });
  });

  it('takes its engine processes along when it is killed', async () => {
    const running = start(['serve', '--port', '0', '--log-level', 'silent']);
    const pids = await enginePids(await address(running.stdout));
    expect(pids.map(isAlive)).toEqual([true, true]);
    running.child.kill('SIGKILL');
    await running.finished;
    await expect.poll(() => pids.map(isAlive), { timeout: 5000 }).toEqual([false, false]);
  });
});

const engineProcess = z.object({ pid: z.number() });
const health = z.object({ models: z.tuple([z.object({ decode: engineProcess, score: engineProcess })]) });

async function enginePids(url: string): Promise<number[]> {
  const { models } = health.parse(await (await fetch(`${url}/healthz`)).json());
  return [models[0].decode.pid, models[0].score.pid];
}
