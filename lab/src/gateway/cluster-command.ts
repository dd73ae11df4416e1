import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { percent, table } from '#bench/markdown-table.js';
import { heading } from '#cli/format.js';
import { integer, real } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { readAnswer } from '../read-answer.js';
import { type Heard, readResuming } from './resuming-client.js';
import { percentile } from './stream-load.js';

interface Options {
  readonly url: readonly (readonly string[])[];
  readonly model?: string;
  readonly keyEnv?: string;
  readonly streams: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly cut: number;
  readonly maxTokens: number;
  readonly prompt: string;
  readonly output: string;
}

/** Results of one setup in all rounds. */
interface Result {
  readonly urls: readonly string[];
  readonly finished: number;
  /** Numbers by the code of the error. */
  readonly failed: Readonly<Record<string, number>>;
  readonly misplaced: number;
  readonly resumes: number;
  readonly tokensPerSecond: number;
  readonly firstTokenMs: { readonly p50: number; readonly p99: number };
  readonly perTokenMs: { readonly p50: number; readonly p99: number };
}

export function clusterCommand(): Command {
  return new Command('cluster')
    .description('Load running gateways with resumable streams, some of which are cut and resumed elsewhere.')
    .requiredOption(
      '--url <urls>',
      'gateways of a setup, separated by commas (repeatable: setups are loaded in turn and compared)',
      setups,
      [],
    )
    .option('--model <name>', 'model to ask for (default: the first one of /v1/models)')
    .option('--key-env <variable>', 'environment variable with an API key of the gateways')
    .option('--streams <number>', 'concurrent streams; each is followed by the next', integer(1, 10_000), 50)
    .option('--seconds <number>', 'duration of each round', real(1, 86_400), 60)
    .option('--rounds <number>', 'rounds of each setup, in alternating order', integer(1, 100), 1)
    .option('--cut <share>', 'share of the streams whose connection is cut once', real(0, 1), 0.2)
    .option('--max-tokens <number>', 'maximum length of a response', integer(1, 100_000), 200)
    .option('--prompt <text>', 'question of every request', 'What is 12 + 30 - 5?')
    .option('--output <file>', 'write the results as JSON', 'bench-gateway-cluster.json')
    .addHelpText(
      'after',
      `
The gateways must share a state, or streams can only be resumed where they were. Replace or kill
gateways while it runs. The exit code is 1 if a stream failed, lost an event, or got one twice.

Examples:
  $ npm run lab -- gateway cluster --url https://flinch.example.org --key-env WEB_KEY --seconds 600
  $ npm run lab -- gateway cluster --url http://a:8787 --url http://b:8787,http://c:8787 --rounds 5`,
    )
    .action(cluster);
}

async function cluster({ output, ...options }: Options): Promise<void> {
  const { url: all, keyEnv, rounds, seconds } = options;
  const key = keyEnv === undefined ? undefined : process.env[keyEnv];
  if (keyEnv !== undefined && !key) throw new Error(`--key-env: the variable ${keyEnv} is not set`);
  const headers: Record<string, string> = key ? { Authorization: `Bearer ${key}` } : {};
  const model = options.model ?? (await firstModel(all[0]![0]!, headers));
  const heard = all.map((): Heard[] => []);
  const progress = new Progress(rounds * all.length);
  try {
    for (let round = 0; round < rounds; round++) {
      // A B, B A, …: what changes with time changes for both.
      const order = all.map((_, i) => (round % 2 === 0 ? i : all.length - 1 - i));
      for (const i of order) {
        heard[i]!.push(...(await load({ ...options, urls: all[i]!, headers, model })));
        progress.advance();
      }
    }
  } finally {
    progress.stop();
  }
  const results = all.map((urls, i) => resultOf(urls, heard[i]!, rounds * seconds));
  await writeFile(output, `${JSON.stringify({ settings: { ...options, model }, results }, null, 2)}\n`);
  say(`${format(results, options)}\n\nwritten to ${output}\n`);
  if (results.some(({ failed, misplaced }) => misplaced > 0 || Object.keys(failed).length > 0)) {
    process.exitCode = 1;
  }
}

interface Load extends Omit<Options, 'url' | 'output'> {
  readonly urls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
}

async function load(options: Load): Promise<Heard[]> {
  const { urls, headers, model, streams, seconds, cut, maxTokens, prompt } = options;
  const end = performance.now() + 1000 * seconds;
  const heard: Heard[] = [];
  let asked = 0;
  const one = async (): Promise<void> => {
    while (performance.now() < end) {
      const turn = asked;
      asked += 1;
      const request = {
        model,
        seed: turn,
        max_tokens: maxTokens,
        messages: [{ role: 'user', content: prompt }],
      };
      // Every so many, at another place each.
      const isCut = Math.floor((turn + 1) * cut) > Math.floor(turn * cut);
      const cutAfter = isCut ? 2 + (turn % 17) : null;
      heard.push(await readResuming({ urls, headers, request, cutAfter, turn }));
    }
  };
  await Promise.all(Array.from({ length: streams }, one));
  return heard;
}

function resultOf(urls: readonly string[], heard: readonly Heard[], seconds: number): Result {
  const failed: Record<string, number> = {};
  const done = heard.filter(({ outcome }) => outcome === 'done');
  for (const { outcome } of heard) if (outcome !== 'done') failed[outcome] = (failed[outcome] ?? 0) + 1;
  const sum = (of: (one: Heard) => number): number => heard.reduce((total, one) => total + of(one), 0);
  const quantiles = (values: readonly number[]): Result['firstTokenMs'] => {
    const sorted = Float64Array.from(values).sort();
    return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
  };
  return {
    urls,
    finished: done.length,
    failed,
    misplaced: sum(({ misplaced }) => misplaced),
    resumes: sum(({ resumes }) => resumes),
    tokensPerSecond: sum(({ tokens }) => tokens) / seconds,
    firstTokenMs: quantiles(done.filter(({ tokens }) => tokens > 0).map(({ firstMs }) => firstMs)),
    perTokenMs: quantiles(
      done
        .filter(({ tokens }) => tokens > 1)
        .map(({ firstMs, lastMs, tokens }) => (lastMs - firstMs) / (tokens - 1)),
    ),
  };
}

function format(
  results: readonly Result[],
  { streams, seconds, rounds, cut }: Omit<Options, 'output'>,
): string {
  const [first] = results;
  const rows = results.map((result, i) => [
    `${i + 1}: ${result.urls.length} ${result.urls.length === 1 ? 'gateway' : 'gateways'}`,
    String(result.finished),
    Object.entries(result.failed)
      .map(([code, count]) => `${count} ${code}`)
      .join(', ') || '0',
    String(result.misplaced),
    String(result.resumes),
    result.tokensPerSecond.toFixed(1),
    (result.tokensPerSecond / first!.tokensPerSecond).toFixed(2),
    `${result.firstTokenMs.p50.toFixed(0)} / ${result.firstTokenMs.p99.toFixed(0)} ms`,
    `${result.perTokenMs.p50.toFixed(1)} / ${result.perTokenMs.p99.toFixed(1)} ms`,
  ]);
  return [
    heading(`${streams} streams, ${rounds} × ${seconds} s each, ${percent(cut)} of them cut`),
    table(
      [
        'setup',
        'finished',
        'failed',
        'lost or doubled',
        'resumes',
        'tokens/s',
        'ratio',
        'first token p50 / p99',
        'per token p50 / p99',
      ],
      rows,
    ),
  ].join('\n');
}

async function firstModel(url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const served = z.object({ data: z.tuple([z.object({ id: z.string() })], z.unknown()) });
  const response = await fetch(`${url}/v1/models`, { headers });
  if (!response.ok) throw new Error(`${url}/v1/models: status ${response.status}`);
  return served.parse(JSON.parse(await readAnswer(response))).data[0].id;
}

function setups(text: string, before: readonly (readonly string[])[]): (readonly string[])[] {
  const urls = text.split(',').map((url) => url.replace(/\/$/, ''));
  for (const url of urls)
    if (!/^https?:\/\/./.test(url)) throw new InvalidArgumentError('Must be http:// or https:// addresses.');
  return [...before, urls];
}
