import { Command, Option } from 'commander';
import { pino } from 'pino';
import type { DeviceChoice } from '../engine/device.js';
import { Engine } from '../engine/engine.js';
import { deviceOption, integer, modelOption, parseBytes } from './options.js';
import { formatDevices, heading } from './report.js';

interface ServeOptions {
  readonly model: string;
  readonly host: string;
  readonly port: number;
  readonly device: DeviceChoice;
  readonly maxStreams: number;
  readonly memory?: number;
  readonly logLevel: string;
}

export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve a model: OpenAI-compatible API, WebSocket stream, and a page to try it.')
    .addOption(modelOption())
    .addOption(deviceOption())
    .option('--host <address>', 'address to listen on; there is no access control yet', '127.0.0.1')
    .addOption(
      new Option('--port <number>', 'port; 0 picks a free one')
        .env('PORT')
        .default(8787)
        .argParser(integer(0, 65535)),
    )
    .option('--max-streams <number>', 'responses under way at once', integer(1, 1024), 16)
    .option(
      '--memory <size>',
      'most that texts may be predicted to need, such as 4GB; by default 70 % of what is free',
      parseBytes,
    )
    .addOption(
      new Option('--log-level <level>', 'what the log on standard error holds')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ flinch serve
  $ flinch serve --model ~/models/Qwen2.5-0.5B-Instruct --port 9000
  $ curl -N http://127.0.0.1:8787/v1/chat/completions -H 'Content-Type: application/json' -d '{
      "model": "reasoner", "stream": true,
      "messages": [{"role": "user", "content": "What is 12 + 30 - 5?"}]}'`,
    )
    .action(serve);
}

async function serve(options: ServeOptions): Promise<void> {
  const { model, host, port, device, maxStreams, logLevel } = options;
  // The gateway is a part of its own: a library user does not load it.
  const { EngineModel, Models, startGateway } = await import('../../gateway/index.js');
  const logger = pino({ level: logLevel }, pino.destination(2));
  const engine = await Engine.open(model, {
    device,
    maxStreams,
    ...(options.memory !== undefined && { memoryLimit: options.memory }),
  });
  const name = engine.checkpoint.name;
  try {
    await engine.start();
    const devices = formatDevices(engine);
    logger.info({ model: name, devices }, 'model opened');
    const models = new Models([await EngineModel.open(name, engine, logger)]);
    const gateway = await startGateway({ models, host, port, logger });
    process.stdout.write(
      `${heading('flinch')} serves ${name} on ${devices} at ${heading(gateway.url)} (Ctrl-C to stop)\n`,
    );
    const signal = await terminated();
    logger.info({ signal }, 'shutting down');
    await gateway.close();
  } finally {
    await engine.close();
  }
}

async function terminated(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(signal));
  });
}
