import { describe, expect, it } from 'vitest';
import { flinch, jsonLines } from '../support/cli.js';
import { QUESTION } from '../support/requests.js';

const line = JSON.stringify({
  id: 1,
  messages: [{ role: 'user', content: QUESTION }],
  response: '2 + 3 = 5.',
});
const SCORE = ['score', '-'];

describe('--device', () => {
  it('says on standard error what was chosen, once, and prints the same', async () => {
    const { code, stdout, stderr } = await flinch([...SCORE, '--device', 'auto'], line);
    expect(code).toBe(0);
    expect(stderr.match(/^flinch: on (cpu|webgpu|cuda)$/gm)).toHaveLength(1);
    expect(jsonLines(stdout).map(({ id }) => id)).toEqual([1]);
  });

  it('says it for chat, apart from the events', async () => {
    const args = ['chat', '--device', 'auto', '--no-score', '--json', '--max-tokens', '3', QUESTION];
    const { code, stdout, stderr } = await flinch(args);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^flinch: on (cpu|webgpu|cuda)$/m);
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: 'generation.done' });
  });

  it.runIf(process.platform === 'linux')(
    'fails with the reason where there is none of that name',
    async () => {
      const hidden = { VK_DRIVER_FILES: '/nowhere.json', VK_ICD_FILENAMES: '/nowhere.json' };
      const { code, stdout, stderr } = await flinch([...SCORE, '--device', 'webgpu'], line, hidden);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^flinch: the score process could not be started: .*WebGPU adapter/m);
      expect(stderr).not.toContain('    at file:');
    },
  );

  it('knows four of them', async () => {
    const { code, stderr } = await flinch([...SCORE, '--device', 'gpu'], line);
    expect(code).toBe(2);
    expect(stderr).toContain('Allowed choices are cpu, webgpu, cuda, auto');
  });
});
