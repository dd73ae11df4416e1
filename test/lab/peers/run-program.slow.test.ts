import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runProgram } from '#lab/peers/run-program.js';
import { startOf } from '#src/files/process-start.js';
import { useFolder } from '../../support/cli.js';

const folder = useFolder();

const shell = (line: string, options: Partial<Parameters<typeof runProgram>[2]> = {}) =>
  runProgram('sh', ['-c', line], {
    cwd: folder.path('.'),
    log: folder.path('log'),
    signal: new AbortController().signal,
    ...options,
  });

it('returns the standard output, and keeps both in the log', async () => {
  const lines: string[] = [];
  const stdout = await shell('echo out; echo err >&2', { onLine: (line) => lines.push(line) });
  expect(stdout).toBe('out\n');
  expect(lines.sort()).toEqual(['err', 'out']);
  expect(folder.read('log').split('\n').sort()).toEqual(['', 'err', 'out']);
});

it('keeps the end of a long output', async () => {
  const stdout = await shell('head -c 3000000 /dev/zero | tr "\\0" x; echo; echo end');
  expect([stdout.length, stdout.slice(-5)]).toEqual([1 << 20, '\nend\n']);
});

describe('a program that fails', () => {
  it('is named with the end of its output, its exit code and its log', async () => {
    const error = await shell('seq 1 500; echo boom >&2; exit 3').catch(String);
    expect(error).toMatch(/sh -c .* failed \(exit code 3\):/s);
    expect(error).toContain('    boom');
    expect(error).not.toContain('    480');
    expect(error).toContain(folder.path('log'));
  });

  it.each([
    ['error: failed to write: No space left on device (os error 28)', /The disk is full: .*FLINCH_PEERS/],
    ['Because no-such was not found in the package registry', /may be gone.*UV_DEFAULT_INDEX/],
    ['error: error sending request for url', /could not be reached.*HTTPS_PROXY/],
  ])('says what can be done about "%s"', async (line, hint) => {
    await expect(shell(`echo '${line}' >&2; exit 1`)).rejects.toThrow(hint);
  });

  it('may know better what can be done', async () => {
    await expect(shell('exit 1', { hint: () => 'Install it.' })).rejects.toThrow('Install it.');
  });

  it('is named where it is not there', async () => {
    const options = { cwd: folder.path('.'), log: folder.path('log'), signal: new AbortController().signal };
    await expect(runProgram('no-such-program', [], options)).rejects.toThrow(
      /no-such-program could not be started .*ENOENT/,
    );
  });
});

it('ends what a program has started, too, when it is interrupted', async () => {
  const interrupt = new AbortController();
  let pid = 0;
  const running = shell('sleep 60 & echo $!; wait', {
    signal: interrupt.signal,
    onLine: (line) => {
      pid = Number(line);
      interrupt.abort(new Error('interrupted'));
    },
  });
  await expect(running).rejects.toThrow('interrupted');
  await expect.poll(() => startOf(pid)).toBeNull();
});

it('does not start where it is interrupted before', async () => {
  const signal = AbortSignal.abort(new Error('interrupted'));
  await expect(shell('touch started', { signal })).rejects.toThrow('interrupted');
  await sleep(50);
  expect(() => folder.read('started')).toThrow();
});
