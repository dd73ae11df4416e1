import { Command } from 'commander';
import { chalk } from '../src/files/colours.js';
import { visibleLine } from '../src/files/visible.js';
import type { Finding } from './doctor-finding.js';
import { collectText, integer } from './options.js';
import type { ServeFlags } from './serve-config.js';
import { say } from './terminal.js';

interface DoctorOptions extends ServeFlags {
  readonly json?: true;
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .option('--config <file>', 'configuration that is checked')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on', integer(0, 65535))
    .option('--metrics-port <number>', 'separate port for /metrics', integer(0, 65535))
    .option('--health-port <number>', 'separate port for probes', integer(0, 65535))
    .option('--allow-anonymous', 'allow non-loopback addresses without API keys')
    .option('--model <path>', 'checkpoint folder or GGUF file (default: the embedded reasoner)')
    .option('--upstream <url>', 'URL of an OpenAI-compatible server that runs the model, including /v1')
    .option('--upstream-model <name>', "the model's name on that server")
    .option('--upstream-key-env <variable>', "environment variable with that server's API key")
    .option('--scorer <path>', "checkpoint or GGUF file of the same weights that scores that server's output")
    .option(
      '--scorer-url <url>',
      'inference server that runs the graphs of --scorer (repeatable)',
      collectText,
    )
    .option('--scorer-model <name>', 'name of the exported model on that server')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Checks what \`flinch serve\` with the same options needs: configuration, keys, permissions of files
with secrets, ports, models, memory, calibrations, upstreams, Redis. Upstreams are asked for a few tokens.
The exit status is 1 if there is a problem; warnings alone give 0.

Examples:
  $ flinch doctor
  $ flinch doctor --config flinch.yaml
  $ flinch doctor --upstream http://127.0.0.1:8000/v1 --upstream-model Qwen/Qwen2.5-0.5B-Instruct
  $ flinch doctor --config flinch.yaml --json`,
    )
    .action(doctor);
}

async function doctor({ json, ...flags }: DoctorOptions): Promise<void> {
  const { diagnose } = await import('./doctor-checks.js');
  const findings = await diagnose(flags, process.env);
  const healthy = findings.every(({ status }) => status !== 'problem');
  say(json ? `${JSON.stringify({ healthy, findings })}\n` : tableOf(findings));
  if (!healthy) process.exitCode = 1;
}

const COLOURS = { ok: chalk.green, warning: chalk.yellow, problem: chalk.red } as const;

/** A row for each finding, and its remedy below it. */
function tableOf(findings: readonly Finding[]): string {
  const rows = findings.map((finding) => ({
    ...finding,
    name: visibleLine([finding.check, finding.of].filter((part) => part !== undefined).join(' ')),
  }));
  const width = Math.max(...rows.map(({ name }) => name.length));
  const mark = Math.max(...rows.map(({ status }) => status.length));
  const indent = ' '.repeat(mark + width + 4);
  // An error of YAML shows the line it is in.
  const shown = (found: string): string => found.split('\n').map(visibleLine).join(`\n${indent}`);
  const lines = rows.flatMap(({ status, name, found, remedy }) => [
    `${COLOURS[status](status.padEnd(mark))}  ${name.padEnd(width)}  ${shown(found)}`,
    ...(remedy === null ? [] : [`${indent}${chalk.bold(`→ ${visibleLine(remedy)}`)}`]),
  ]);
  return `${lines.join('\n')}\n`;
}
