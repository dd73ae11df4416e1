import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BBH_SUBSETS } from '#bench/suites/bbh.js';
import { PROCESSBENCH_SUBSETS } from '#bench/suites/processbench.js';
import { flinch, useFolder } from '../support/cli.js';
import { parseDocument } from '../support/documents.js';
import { checkpointFolder } from '../support/golden.js';
import { judgeServer } from '../support/judge-server.js';
import { NLI_HEAD, SIMILARITY_HEAD, type TinyEncoder, writeTinyEncoder } from '../support/tiny-encoder.js';

/**
 * Every command of the page as it is written, expanded by bash: the names of the models and encoders are those of small
 * ones here, the data sets have a few rows, and the judge is a double. Commands that differ by the model's name alone are
 * run once.
 */
const PAGE = 'docs/how-to/paper-models.md';
const FIXTURES = fileURLToPath(new URL('../fixtures/bench', import.meta.url));
/** That all of them are here. */
const MODEL = 'Llama-3.1-8B-Instruct';
const JUDGE_OF_PAGE = 'https://api.example.com/v1';

const { path } = useFolder();
const { blocks } = parseDocument(PAGE, readFileSync(PAGE, 'utf8'));
const own = blocks.filter(({ notRun }) => notRun?.includes('paper-models.slow.test.ts'));
const before = process.cwd();

beforeAll(async () => {
  writeModel();
  await writeEncoder('deberta-large-mnli', { head: NLI_HEAD });
  await writeEncoder('stsb-roberta-large', { head: SIMILARITY_HEAD });
  await writeEncoder('all-MiniLM-L6-v2', { head: 'sentence' });
  writeData(path('data/flinch'));
  // Its paths are relative to where its reader is.
  process.chdir(path(''));
});
afterAll(() => process.chdir(before));

describe(PAGE, () => {
  it('can be run from the first command to the last', async ({ signal }) => {
    const judge = await judgeServer(answer);
    const settings = own.filter(({ text }) => !text.includes('npx')).map(({ text }) => text);
    const run = new Set<string>();
    for (const { text } of own.filter(({ text }) => text.includes('npx'))) {
      for (const args of expanded([...settings, text].join('\n').replaceAll(JUDGE_OF_PAGE, judge.url))) {
        const command = args
          .join(' ')
          .replaceAll(/(?<=\.\/|-)(Llama|OpenMath2|Qwen2|Mistral)[\w.-]+/g, MODEL);
        // Out of time, the folder is the repository again.
        signal.throwIfAborted();
        if (run.has(command)) continue;
        run.add(command);
        const ofModel = args.map((arg) => (arg.startsWith('./') ? `./${MODEL}` : arg));
        const { code, stderr } = await flinch(ofModel, '', { XDG_DATA_HOME: path('data') });
        expect(code, `${args.join(' ')}\n${stderr}`).toBe(0);
      }
    }
    expect(run.size).toBe(12);
    // All of it asked the judge, and came to tables of every kind.
    const prompts = judge.requests.map(({ messages }) => messages[0]!.content);
    for (const part of [
      ...['Does the response end with the correct answer?', '<analysis>', '<statement>'],
      ...['<others>', '<claim>'],
    ])
      expect(
        prompts.some((prompt) => prompt.includes(part)),
        part,
      ).toBe(true);
    const report = readFileSync('runs/report/report.html', 'utf8');
    // The small model's answers are single steps: there are no tables by token or step, and no ablations of them.
    for (const title of ['MATH', 'BBH', 'ProcessBench', 'FActScore', 'Efficiency'])
      expect(report, title).toContain(title);
    expect(report).not.toMatch(/-lexical|by words|by rules/);
    const { claims } = JSON.parse(readFileSync(`runs/factscore-${MODEL}/evaluation.json`, 'utf8'));
    expect(claims).toContainEqual(expect.objectContaining({ measure: 'graph-claims', aggregation: 'own' }));
    expect(readFileSync('runs/paper/report.html', 'utf8')).toContain('The paper’s tables');
  });
});

/** The arguments of each `npx` in a script, as bash makes them of variables, loops and patterns. */
function expanded(script: string): string[][] {
  const npx = String.raw`npx() { shift; printf '%s\x1f' "$@"; printf '\x1e'; }`;
  const output = execFileSync('bash', ['--norc', '-euc', `${npx}\n${script}`], { encoding: 'utf8' });
  return output
    .split('\x1e')
    .filter((call) => call !== '')
    .map((call) => call.split('\x1f').slice(0, -1));
}

/** A model drawn at random whose responses are short: every tenth token ends them. */
function writeModel(): void {
  cpSync(checkpointFolder('tiny-qwen2'), path(MODEL), { recursive: true });
  const file = join(path(MODEL), 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8'));
  const ends = Array.from({ length: 64 }, (_, i) => 190 + i);
  writeFileSync(
    file,
    JSON.stringify({
      ...config,
      eos_token_id: [config.eos_token_id, ...ends],
      max_position_embeddings: 2048,
    }),
  );
}

async function writeEncoder(name: string, options: TinyEncoder): Promise<void> {
  mkdirSync(path('encoders'), { recursive: true });
  renameSync(await writeTinyEncoder(options), path(`encoders/${name}`));
}

/** The data sets with a few rows of each subset. */
function writeData(folder: string): void {
  for (const suite of ['math', 'factscore'])
    cpSync(join(FIXTURES, suite), join(folder, suite), { recursive: true });
  const rows = (file: string): unknown => JSON.parse(readFileSync(join(FIXTURES, file), 'utf8'));
  const [example] = (rows('bbh/web_of_lies.json') as { examples: unknown[] }).examples;
  mkdirSync(join(folder, 'bbh'));
  for (const name of BBH_SUBSETS)
    writeFileSync(join(folder, 'bbh', `${name}.json`), JSON.stringify({ examples: [example] }));
  mkdirSync(join(folder, 'processbench'));
  for (const name of PROCESSBENCH_SUBSETS) {
    const own = (rows('processbench/gsm8k.json') as { id: string }[]).slice(0, 1).map((row) => ({
      ...row,
      generator: MODEL,
      id: `${name}-${row.id}`,
    }));
    writeFileSync(join(folder, 'processbench', `${name}.json`), JSON.stringify(own));
  }
}

/**
 * A judge to which every answer is wrong, and of each response the first line; of statements every other is supported. A
 * text is one claim, which no other text has said.
 */
function answer(prompt: string): string {
  const part = (name: string): string | undefined =>
    new RegExp(`<${name}>\\n(.*?)\\n</${name}>`, 's').exec(prompt)?.[1];
  const [statement, sentence, response = ''] = [part('statement'), part('sentence'), part('response')];
  const [text, claim] = [part('text'), part('claim')];
  if (claim !== undefined) return JSON.stringify({ supported: claim === text });
  if (part('others') !== undefined) return JSON.stringify({ new: [1] });
  if (text !== undefined && sentence === undefined) return JSON.stringify({ claims: [text] });
  if (statement !== undefined) return JSON.stringify({ supported: statement.length % 2 === 0 });
  if (sentence !== undefined)
    return JSON.stringify({ claims: [{ claim: sentence, words: sentence.split(' ') }] });
  if (prompt.includes('"same"')) return JSON.stringify({ same: response.length % 4 === 0 });
  if (part('analysis') === undefined) return 'The first sentence is wrong.';
  return JSON.stringify({ step: response.split('\n').find((line) => line.trim() !== '') ?? null });
}
