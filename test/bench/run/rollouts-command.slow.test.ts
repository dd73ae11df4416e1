import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { flinch, jsonLines, useFolder } from '../../support/cli.js';
import { type Script, type ScriptedRequest, scriptedUpstream } from '../../support/scripted-upstream.js';
import { chunk, isProbe, stopChunk, vllmDouble } from '../../support/upstream-doubles.js';

const folder = useFolder();

/** Responses of four steps whose labels go round. Every tenth response has a right final answer all the same. */
const ROWS = Array.from({ length: 40 }, (_, i) => ({
  id: `row-${i}`,
  generator: i % 2 === 0 ? 'one-model' : 'other-model',
  problem: `What is ${i} + 1?`,
  steps: [0, 1, 2, 3].map((step) => `Step ${step} of answer ${i}${step === i % 4 ? ' is wrong' : ''}.`),
  final_answer_correct: i % 10 === 9,
  label: i % 4,
}));
for (const [i, { steps }] of ROWS.entries()) steps[3] += ` The answer is ${i % 10 === 9 ? i + 1 : i + 2}.`;

function data(): string {
  const place = folder.path('data');
  for (const suite of ['processbench', 'gsm8k']) mkdirSync(`${place}/${suite}`, { recursive: true });
  writeFileSync(`${place}/processbench/gsm8k.json`, JSON.stringify(ROWS));
  // Of the last problem no answer is known.
  const known = ROWS.slice(0, -2).map(({ problem }, i) => ({ question: problem, answer: `#### ${i + 1}` }));
  writeFileSync(`${place}/gsm8k/test.jsonl`, known.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return place;
}

/**
 * A server whose completions are right unless a wrong step stands before them. It recovers from one in ten wrong steps,
 * and never finds the answer to one question in ten.
 */
function completing(): { readonly script: Script; readonly asked: ScriptedRequest[] } {
  const double = vllmDouble();
  const asked: ScriptedRequest[] = [];
  const script: Script = (request, reply) => {
    const [question, begun] = request.body.messages ?? [];
    const number = Number(/What is (\d+)/.exec(question?.content ?? '')?.[1] ?? Number.NaN);
    if (isProbe(request) || Number.isNaN(number)) return double(request, reply);
    asked.push(request);
    const isWrong = begun?.content.includes('is wrong') && number % 10 !== 3;
    const right = !isWrong && number % 10 !== 5;
    reply
      .head()
      .data(chunk(`The answer is ${right ? number + 1 : 0}.`, null))
      .data(stopChunk);
    reply.last({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 5 } });
  };
  return { script, asked };
}

describe('flinch bench rollouts', () => {
  it('tells how often rollouts find the labelled step, by a server that errs at a known rate', async () => {
    const { script, asked } = completing();
    const server = await scriptedUpstream(script);
    const args = ['bench', 'rollouts', '--data', data(), '--subsets', 'gsm8k', '--rollouts', '2'];
    args.push('--completer', server.url, '--completer-model', 'large', '--out', folder.path('out'));
    const { code, stdout, stderr } = await flinch(args);
    expect([code, stderr]).toEqual([0, '']);
    // Of 40, 3 have right answers (9, 19, 29; 39 has none that is known), and 2 no known one.
    // 5, 15, 25 and 35 are not found. After 3, 13, 23 and 33 it recovers: the label is the last step, as in 3 and 23.
    const { rows, cost, leftOut } = JSON.parse(folder.read('out/agreement.json'));
    expect(leftOut).toEqual({ rightAnswers: 3, unknownAnswers: 2 });
    expect(rows[0]).toMatchObject({ by: 'rollouts (K=2) of large', n: 35, none: 4, earlier: 0, later: 2 });
    expect(rows[0].agrees.value).toBeCloseTo(29 / 35, 12);
    expect(rows[0].near.value).toBeCloseTo(29 / 35, 12);
    expect(rows[1]).toMatchObject({ by: 'a random step', agrees: { value: 0.25, interval: null } });
    expect(cost).toEqual({ completions: asked.length, tokens: 5 * asked.length });
    expect(stdout).toContain(`${asked.length} completions, ${5 * asked.length} tokens written`);
    expect(stdout).toMatch(/\| all +\| rollouts \(K=2\) of large \| +35 \| 0\.829 \[0\.673, 0\.919\]/);
    expect(jsonLines(folder.read('out/rollouts.jsonl'))).toHaveLength(asked.length);

    // A question alone is a request without an answer that has begun; other beginnings end with a blank line.
    const begun = asked.map(({ body }) => body.messages?.[1]?.content);
    expect(begun.filter((text) => text === undefined).length).toBeGreaterThan(34);
    const ofTwo = 'Step 0 of answer 2.\n\nStep 1 of answer 2.\n\n';
    expect(begun.filter((text) => text === ofTwo)).toHaveLength(1);

    // Nothing is asked twice.
    const before = asked.length;
    expect((await flinch(args)).stdout).toBe(stdout);
    expect(asked).toHaveLength(before);

    const other = await flinch([...args, '--rollouts', '3']);
    expect(other.stderr).toContain('contains a run with another label');
    const half = [...args, '--limit', '10', '--json'];
    const some = await flinch([...half, '--out', folder.path('some')]);
    expect(JSON.parse(some.stdout).rows[0]).toMatchObject({ n: 10 });
    const hard = await flinch([...args, '--subsets', 'omnimath']);
    expect(hard.stderr).toContain('--subsets: the answers are known of gsm8k, math, not of "omnimath"');
    const nowhere = await flinch([...args.slice(0, -2), '--data', folder.path('none'), '--out', 'x']);
    expect(nowhere.stderr).toContain('`flinch data pull gsm8k` downloads it');
  });

  it('draws from the engine, too', async () => {
    const args = ['bench', 'rollouts', '--data', data(), '--subsets', 'gsm8k', '--limit', '2'];
    const { code, stdout, stderr } = await flinch([
      ...[...args, '--rollouts', '1', '--max-tokens', '8', '--out', folder.path('own'), '--json'],
    ]);
    expect(code, stderr).toBe(0);
    // It knows nothing of such questions.
    expect(JSON.parse(stdout)).toMatchObject({ cost: { completions: 2 }, settings: { maxTokens: 8 } });
    expect(JSON.parse(stdout).rows[0]).toMatchObject({ by: 'rollouts (K=1)', n: 2, none: 2 });
  });
});
