import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimCloseness } from '#bench/baselines/response-graph.js';
import {
  claimGraphSchema,
  claimsSchema,
  responseSchema,
  sampleSchema,
  scoreSchema,
} from '#bench/records/records.js';
import { segmentText } from '#src/index.js';
import { useBenchRuns } from '../../support/bench-runs.js';
import { flinch, start } from '../../support/cli.js';
import { REASONER } from '../../support/golden.js';
import { judgeServer } from '../../support/judge-server.js';
import { textOf } from '../../support/markup.js';

/** What needs no judge beside a file of claims. */
const PLAIN = 'adversarial,nll,graph:samples=1';
const runs = useBenchRuns(
  ...['--model', REASONER, '--suite', 'factscore', '--seed', '3', '--max-tokens', '300'],
  ...['--measures', `${PLAIN},graph-claims:samples=2`],
);
const { folder, lines, records, evaluation: evaluationOf } = runs;

/** The embedded model knows nobody: it writes steps of a problem. */
const ENTITIES = ['Ada with 11', 'Emmy with 12', 'Sofya with 20'].map((who) => {
  const [name] = who.split(' ');
  return `${who} stones. Then ${name} sells 3. ${name} finds 67 more. How many stones are there at the end? Explain each step`;
});
const ADA = ENTITIES[0]!;
folder.write('prompt_entities.txt', ENTITIES.join('\n'));

const DATA = ['--data', folder.path('.')];
const run = (name: string, ...more: string[]) => runs.run(name, ...DATA, ...more);
/** Without the graphs of claims. */
const plainRun = (name: string, ...more: string[]) => run(name, '--measures', PLAIN, ...more);
/** All but how it was called: a judge has another port each time. */
const tablesOf = (name: string) => ({ ...evaluationOf(name), command: '' });
const claimsIn = (name: string) => records(name, 'claims', claimsSchema);
const textsIn = (name: string) =>
  new Map(records(name, 'responses', responseSchema).map(({ id, tokenTexts }) => [id, tokenTexts.join('')]));
const linesIn = (name: string, file: string): number => lines(name, file).length;
const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`;

const partOf = (prompt: string, name: string): string | undefined =>
  new RegExp(`<${name}>\\n(.*)\\n</${name}>`, 's').exec(prompt)?.[1];
const claimOf = (sentence: string): string => `It says: ${sentence.trim()}`;

/**
 * A sentence is one claim: of calculations some are supported, answers are not, and nobody can tell of the rest. A
 * response supports the claims that it states, and what is not known word for word is new.
 */
function answer(prompt: string): string {
  const [text, claim, others] = ['text', 'claim', 'others'].map((name) => partOf(prompt, name));
  if (claim !== undefined)
    return JSON.stringify({ supported: segmentText(text!).some((one) => claimOf(one.text) === claim) });
  if (others !== undefined) return JSON.stringify({ new: others.split('\n').map((_, i) => i + 1) });
  if (text !== undefined && !prompt.includes('<sentence>'))
    return JSON.stringify({ claims: segmentText(text).map((one) => claimOf(one.text)) });
  const sentence = partOf(prompt, 'sentence');
  if (sentence !== undefined) {
    const words = sentence.split(' ').slice(-2);
    return JSON.stringify({ claims: [{ claim: claimOf(sentence), words }] });
  }
  const statement = partOf(prompt, 'statement') ?? '';
  return JSON.stringify({
    supported: statement.includes('=') ? true : statement.includes('answer') ? false : null,
  });
}

async function useJudge() {
  const server = await judgeServer(answer);
  const passages = ENTITIES.map((id) => jsonLine({ id, passages: [`All about ${id}.`] }));
  const evidence = folder.write('evidence.jsonl', passages.join(''));
  const options = ['--judge', server.url, '--judge-model', 'wise', '--evidence', evidence];
  return { options, prompts: () => server.requests.map(({ messages }) => messages[0]!.content) };
}

describe('a run over FActScore', () => {
  it('has a judge split responses into claims, and label these', async () => {
    const judge = await useJudge();
    const { code, stdout, stderr } = await run('whole', ...judge.options);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^judge: \d+ requests .* 0 unreadable\n$/)]);
    expect(stdout).toContain('unsupported claims score higher');

    const texts = textsIn('whole');
    expect([...texts.keys()].sort()).toEqual(ENTITIES);
    for (const { id, by, claims } of claimsIn('whole')) {
      expect(by).toBe('judge');
      for (const { claim, spans } of claims) {
        const words = spans.map((span) => texts.get(id)!.slice(...span)).join(' ');
        expect(claim.endsWith(` ${words}`), `${words} in ${claim}`).toBe(true);
      }
    }
    const support = judge.prompts().filter((prompt) => prompt.includes('<statement>'));
    expect(support.every((prompt) => /All about (Ada|Emmy|Sofya)/.test(prompt))).toBe(true);
    for (const file of ['checks', 'spans']) expect(linesIn('whole', file)).toBe(0);

    const labels = claimsIn('whole').flatMap(({ claims }) => claims.map(({ supported }) => supported));
    const [supported, unsupported] = [true, false].map(
      (label) => labels.filter((one) => one === label).length,
    );
    const { claims, claimCounts, paired, counts } = evaluationOf('whole');
    expect(unsupported).toBe(3);
    expect(claimCounts).toMatchObject([{ problems: 3, truncated: 0, responses: 3, supported, unsupported }]);
    expect(counts).toEqual([]);
    expect(claims.map(({ measure, aggregation }) => `${measure} ${aggregation}`).sort()).toEqual([
      ...['adversarial max', 'adversarial mean', 'adversarial sum', 'chance own'],
      ...['graph-claims:samples=2 own', 'graph-lexical:samples=1 own', 'longest own'],
      ...['nll max', 'nll mean', 'nll sum'],
    ]);
    expect(new Set(claims.map(({ n, positives }) => `${positives} of ${n}`))).toEqual(
      new Set([`3 of ${3 + supported!}`]),
    );
    expect(new Set(paired.map(({ level }) => level))).toEqual(new Set(['claim']));
  });

  it('goes by the graph of responses and claims', () => {
    const graphs = records('whole', 'graphs', claimGraphSchema);
    expect(graphs.map(({ id }) => id).sort()).toEqual(ENTITIES);
    const scores = new Map(records('whole', 'scores', scoreSchema).map((score) => [score.id, score]));
    const samples = records('whole', 'samples', sampleSchema).sort((a, b) => a.sample - b.sample);
    for (const { id, claims, edges, unreadable } of graphs) {
      const own = claimsIn('whole').find((one) => one.id === id)!;
      const others = samples.filter((sample) => sample.id === id && sample.finish === 'stop');
      const texts = [textsIn('whole').get(id)!, ...others.map(({ text }) => text)];
      const stated = texts.map((text) => segmentText(text).map((sentence) => claimOf(sentence.text)));
      expect(claims.map(({ claim }) => claim)).toEqual([...new Set(stated.flat())]);
      expect(edges).toEqual(stated.map((mine) => claims.map(({ claim }) => mine.includes(claim))));
      expect(unreadable).toBe(0);
      const expected = claimCloseness(edges);
      expect(scores.get(id)!.claimScores).toEqual({
        'graph-claims:samples=2': own.claims.map(({ claim }) =>
          expect.closeTo(-expected[claims.findIndex((one) => one.claim === claim)]!, 8),
        ),
      });
    }
  });

  it('comes to the same however often it is killed, and asks nothing for nothing', async () => {
    const judge = await useJudge();
    const total = linesIn('whole', 'judge');
    const points = Array.from({ length: 3 }, () => Math.floor(Math.random() * total)).sort((a, b) => a - b);
    for (const answers of points) {
      const { child, finished } = start(runs.args('killed', ...DATA, ...judge.options));
      while (child.exitCode === null && linesIn('killed', 'judge') <= answers) await setTimeout(5);
      child.kill('SIGKILL');
      await finished;
    }
    expect((await run('killed', ...judge.options)).code).toBe(0);
    expect(tablesOf('killed'), `killed at ${points}`).toEqual(tablesOf('whole'));
    expect(linesIn('killed', 'judge')).toBe(total);
    // What was being asked when the process died is lost: one question of each response.
    expect(judge.prompts().length).toBeLessThanOrEqual(total + points.length * ENTITIES.length);

    const asked = judge.prompts().length;
    expect((await run('killed', ...judge.options)).code).toBe(0);
    expect(judge.prompts()).toHaveLength(asked);
  });

  it('takes claims and labels from a file that was made of its responses', async () => {
    expect((await plainRun('listed', '--stages', 'generate')).code).toBe(0);
    expect(textsIn('listed')).toEqual(textsIn('whole'));
    const claims = (...of: [claim: string, words: string[], supported: boolean | null][]) =>
      of.map(([claim, words, supported]) => ({ claim, words, supported }));
    const [ada, emmy] = ENTITIES.map((id) => textsIn('listed').get(id)!.split('\n'));
    const file = folder.write(
      'claims.jsonl',
      [
        {
          id: ADA,
          claims: claims(
            ['The first line.', ada![0]!.split(' ').slice(0, 2), true],
            [ada![1]!, [], false],
            ['That is in none of the lines of the response.', [], false],
          ),
        },
        { id: ENTITIES[1], claims: claims(['An opinion.', [emmy![0]!], null]) },
      ]
        .map(jsonLine)
        .join(''),
    );
    expect((await plainRun('listed', '--claims', file)).stderr).toBe('');
    const placed = new Map(claimsIn('listed').map((one) => [one.id, one]));
    const text = ada!.join('\n');
    expect(placed.get(ADA)!.claims.map(({ spans }) => spans.map((span) => text.slice(...span)))).toEqual([
      ada![0]!.split(' ').slice(0, 2),
      [ada![1]],
      [],
    ]);
    expect(evaluationOf('listed').claimCounts).toMatchObject([
      {
        problems: 3,
        responses: 1,
        supported: 1,
        unsupported: 1,
        unlabelled: 1,
        unplaced: 1,
        rejected: { unlisted: 1, none_labelled: 1 },
      },
    ]);
    expect(linesIn('listed', 'scores')).toBe(1);
    expect(evaluationOf('listed').command).toContain('--claims');

    // Said once it need not be said again, but cannot be unsaid.
    expect((await plainRun('listed', '--stages', 'score,evaluate')).code).toBe(0);
    folder.write('claims.jsonl', folder.read('claims.jsonl').replace('true', 'false'));
    expect((await plainRun('listed', '--claims', file)).stderr).toContain(
      'contains a run with another claims',
    );
  });

  it('has a judge make graphs of claims that a file has, if it is asked to', async () => {
    const claims = claimsIn('whole').map(({ id, claims }) => ({
      id,
      claims: claims.map(({ claim, supported }) => ({ claim, words: claim.split(' ').slice(2), supported })),
    }));
    const file = folder.write('whole-claims.jsonl', claims.map(jsonLine).join(''));
    const server = await judgeServer(answer);
    const judge = ['--claims', file, '--judge', server.url, '--judge-model', 'wise'];
    const score = await run('both', ...judge, '--stages', 'generate,claims,sample,score');
    expect(score.stderr).toContain(
      '--stages: the measure graph-claims requires the stage graph before score',
    );
    expect((await run('both', ...judge)).code).toBe(0);
    expect(server.requests.some(({ messages }) => messages[0]!.content.includes('<statement>'))).toBe(false);
    const rows = (name: string) =>
      evaluationOf(name).claims.find(({ measure }) => measure.startsWith('graph-c'));
    expect(rows('both')).toEqual(rows('whole'));
  });

  it('is reported, with counts of statements for the accuracy', async () => {
    expect((await flinch(['bench', 'report', folder.path('whole')])).code).toBe(0);
    const report = textOf(folder.read('whole/report.html'));
    expect(report).toContain('FActScore, T = 0.2');
    expect(report).toContain('Statements: does the score tell unsupported ones from supported ones?');
    expect(report).toContain('there is no accuracy');
    expect(report).toContain('From responses to statements');
    expect(report).not.toMatch(/From problems to cases|\bAcc \d/);
  });

  it('says what it needs before anything is asked', async () => {
    expect((await plainRun('none')).stderr).toContain('--judge, --claims: a judge or a file must label');
    expect((await run('none', '--claims', 'x')).stderr).toContain(
      '--judge: is required with the measure graph-claims',
    );
    const { stderr } = await run('none', '--stages', 'generate', '--measures', 'self_consistency');
    expect(stderr).toContain('self_consistency compares final answers, but factscore has none');
    expect(existsSync(folder.path('none'))).toBe(false);
  });
});
