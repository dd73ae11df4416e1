import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { evaluationSchema } from '#bench/records/evaluation.js';
import { flinch, jsonLines, useFolder } from '../../support/cli.js';
import { judgeServer } from '../../support/judge-server.js';

const folder = useFolder();
const DATA = fileURLToPath(new URL('../../fixtures/bench/gsm8k', import.meta.url));

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
    const args = [
      ...['bench', 'run', '--suite', 'gsm8k', '--data', DATA, '--out', folder.path('run'), '--seed', '3'],
      ...['--measures', 'nll', '--judge', server.url, '--judge-model', 'wise', '--per-subset', '1'],
      ...['--max-tokens', '300', '--temperature', '0', '--streams', '1'],
    ];
    const first = await flinch(args);
    expect(first.code, first.stderr).toBe(0);
    const counts = () => evaluationSchema.parse(JSON.parse(folder.read('run/evaluation.json'))).counts[0];
    expect(counts()).toMatchObject({ problems, located: 1, rejected: { none_named: 1 } });
    const [, found] = jsonLines(folder.read('run/spans.jsonl'));
    expect(found).toMatchObject({ by: 'judge', similarity: 1 });
    expect(jsonLines(folder.read('run/scores.jsonl'))).toHaveLength(1);

    const asked = server.requests.length;
    expect((await flinch(args)).code).toBe(0);
    expect(server.requests).toHaveLength(asked);
    const lost = await flinch([...args, '--judge', 'nowhere', '--out', folder.path('lost')]);
    expect(lost.stderr).toContain('flinch: judge wise at nowhere: ');
    const other = await flinch([...args, '--judge-model', 'wiser']);
    expect(other.stderr).toContain('another judge');
    const alone = args.toSpliced(args.indexOf('--judge'), 4);
    const without = await flinch([...alone, '--stages', 'generate,check']);
    expect(without.stderr).toContain('another judge');
  });
});
