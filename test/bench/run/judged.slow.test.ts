import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { benchData, useBenchRuns } from '../../support/bench-runs.js';
import { judgeServer } from '../../support/judge-server.js';

const DATA = benchData('gsm8k');
const { run, lines, evaluation } = useBenchRuns(
  ...['--suite', 'gsm8k', '--data', DATA, '--seed', '3', '--measures', 'nll', '--per-subset', '1'],
  ...['--max-tokens', '300', '--temperature', '0', '--streams', '1'],
);

describe('a run whose first wrong steps a judge tells', () => {
  it('asks it for as many as each subset needs, once', async () => {
    const problems = readFileSync(`${DATA}/test.jsonl`, 'utf8').trim().split('\n').length;
    let analysed = 0;
    const server = await judgeServer((prompt) => {
      if (!prompt.includes('<analysis>')) {
        analysed += 1;
        return 'The first sentence is wrong.';
      }
      // Of the first it cannot tell.
      if (analysed === 1) return '{"step": null}';
      const [, response = ''] = /<response>\n(.*?)\n<\/response>/s.exec(prompt) ?? [];
      return JSON.stringify({ step: response.split('\n')[0] });
    });
    const judge = ['--judge', server.url, '--judge-model', 'wise'];
    const first = await run('run', ...judge);
    expect(first.code, first.stderr).toBe(0);
    const [counts] = evaluation('run').counts;
    expect(counts).toMatchObject({ problems, located: 1, rejected: { none_named: 1 } });
    const [, found] = lines('run', 'spans');
    expect(found).toMatchObject({ by: 'judge', similarity: 1 });
    expect(lines('run', 'scores')).toHaveLength(1);

    const asked = server.requests.length;
    expect((await run('run', ...judge)).code).toBe(0);
    expect(server.requests).toHaveLength(asked);
    const lost = await run('lost', ...judge, '--judge', 'nowhere');
    expect(lost.stderr).toContain('flinch: judge wise at nowhere: ');
    const other = await run('run', ...judge, '--judge-model', 'wiser');
    expect(other.stderr).toContain('another judge');
    const without = await run('run', '--stages', 'generate,check');
    expect(without.stderr).toContain('another judge');
  });
});
