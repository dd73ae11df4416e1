import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { integer, real } from '#cli/options.js';
import { say } from '#cli/terminal.js';
import { reasonerPath as EMBEDDED_MODEL } from '#src/package-root.js';
import { freePort } from '../../free-port.js';
import { readAnswer } from '../../read-answer.js';
import { withTemporaryFolder } from '../../temporary-folder.js';
import { type RunningServer, startFlinch, startScript } from '../servers.js';
import { type FaultsReport, format } from './report.js';
import { KEYS, runFaults } from './run.js';

type Options = FaultsReport['settings'] & { readonly output: string; readonly json?: true };

/** Size of the gateway's log: it is full within seconds. */
const LOG_KILOBYTES = 64;

export function faultsCommand(): Command {
  return new Command('faults')
    .description(
      'Run honest streams while engine processes are killed and frozen, the disk for logs is full, and clients and an upstream misbehave. Exits with 1 if an honest stream ends with more than its documented error. Linux only. Ctrl-C ends it early and prints the report.',
    )
    .option('--minutes <number>', 'duration', real(0.05, 10_000), 60)
    .option('--warm-up <minutes>', 'warm-up time, excluded from the slopes', real(0, 10_000), 5)
    .option('--streams <number>', 'concurrent honest streams', integer(4, 1000), 100)
    .option('--hostile <number>', 'concurrent hostile clients', integer(0, 1000), 12)
    .option('--seed <number>', 'seed of faults and misuses; their timing varies', integer(0, 2 ** 31), 1)
    .option('--every <seconds>', 'interval between samples', real(0.5, 3600), 10)
    .option('--json', 'print the results as JSON')
    .option(
      '--output <file>',
      'write the results as JSON, updated at each sample',
      'bench-gateway-faults.json',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ npm run lab -- gateway faults\n  $ npm run lab -- gateway faults --minutes 5 --warm-up 1 --streams 30 --seed 7',
    )
    .action(async ({ output, json, ...settings }: Options) => {
      const report = await withTemporaryFolder((folder) => measure(settings, output, folder));
      say(json ? `${JSON.stringify(report, null, 2)}\n` : `${format(report)}\n\nwritten to ${output}\n`);
      if (report.harm.length > 0) process.exitCode = 1;
    });
}

async function measure(
  settings: FaultsReport['settings'],
  output: string,
  folder: string,
): Promise<FaultsReport> {
  const log = join(folder, 'log');
  const servers: RunningServer[] = [];
  try {
    const upstream = await startScript('fast-upstream');
    servers.push(upstream);
    const forHostile = await startScript('fast-upstream');
    servers.push(forHostile);
    const hostile = await startScript('faults/hostile-upstream');
    servers.push(hostile);
    const healthPort = await freePort();
    const config = join(folder, 'flinch.yaml');
    await writeFile(
      config,
      JSON.stringify(
        configuration(
          [upstream, forHostile, hostile].map((one) => one.url),
          healthPort,
        ),
      ),
    );
    const gateway = await startFlinch(['--config', config, '--log-level', 'info'], {
      env: KEYS,
      probe: true,
      log: { file: log, kilobytes: LOG_KILOBYTES },
    });
    servers.push(gateway);
    const ways = z.array(z.string()).parse(JSON.parse(await readAnswer(await fetch(`${hostile.url}/ways`))));
    return await runFaults({
      settings,
      output,
      log,
      gateway,
      ways,
      healthUrl: `http://127.0.0.1:${healthPort}`,
    });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** JSON is YAML. */
const configuration = ([honest, busy, hostile]: readonly string[], healthPort: number): object => ({
  health: { port: healthPort },
  models: {
    own: { checkpoint: EMBEDDED_MODEL },
    proxied: { upstreams: [{ url: `${honest}/v1` }], max_streams: 1024 },
    scored: { upstreams: [{ url: `${honest}/v1` }], scorer: EMBEDDED_MODEL, max_streams: 64 },
    // The same for hostile clients: what they do to the upstream is no matter of the gateway's.
    busy: { upstreams: [{ url: `${busy}/v1` }] },
    hostile: {
      upstreams: [{ url: `${hostile}/v1` }],
      timeouts: { connect_s: 2, first_byte_s: 10, idle_s: 10 },
    },
  },
  engine: { stall_s: 20 },
  access: {
    keys: [
      { name: 'honest', env: 'HONEST_KEY', generations: 1000, requests_per_minute: 1_000_000 },
      { name: 'hostile', env: 'HOSTILE_KEY', generations: 16, requests_per_minute: 600 },
      { name: 'scrape', env: 'SCRAPE_KEY', metrics: true },
    ],
  },
  limits: { header_s: 10, body_s: 10 },
  streams: { stall_s: 10 },
});
