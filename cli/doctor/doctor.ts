import { Command } from 'commander';
import { addModelArgument } from '../model-option.js';
import { integer } from '../options.js';
import type { ServeFlags } from '../serve/serve-config.js';
import { paint, say } from '../terminal.js';
import { tableOf } from './doctor-finding.js';

interface DoctorOptions extends ServeFlags {
  readonly json?: true;
}

export function doctorCommand(): Command {
  return addModelArgument(new Command('doctor'))
    .option(
      '--model <path>',
      'checkpoint folder or GGUF file (default: what the configuration names, or else the embedded reasoner)',
    )
    .option('--config <file>', 'configuration that is checked')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on', integer(0, 65535))
    .option('--upstream <url>', 'URL of an OpenAI-compatible server that runs the model, including /v1')
    .option('--upstream-model <name>', "the model's name on that server")
    .option('--upstream-key-env <variable>', "environment variable with that server's API key")
    .option('--scorer <path>', "checkpoint or GGUF file of the same weights that scores that server's output")
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Checks what \`flinch serve\` with the same model and options needs: configuration, keys, permissions of files with secrets,
ports, this machine, each model's files, memory, speed and calibration, upstreams, Redis. Nothing is opened, converted or
downloaded; upstreams are asked for a few tokens. The exit status is 1 if there is a problem; warnings alone give 0.

Examples:
  $ flinch doctor
  $ flinch doctor ~/models/Qwen2.5-0.5B-Instruct
  $ flinch doctor --upstream http://127.0.0.1:8000/v1 --upstream-model qwen`,
    )
    .action(doctor);
}

async function doctor(_: string | undefined, { json, ...flags }: DoctorOptions): Promise<void> {
  const { diagnose } = await import('./doctor-checks.js');
  const findings = await diagnose(flags, process.env);
  const healthy = findings.every(({ status }) => status !== 'problem');
  if (json) say(`${JSON.stringify({ healthy, findings })}\n`);
  else paint(tableOf(findings));
  if (!healthy) process.exitCode = 1;
}
