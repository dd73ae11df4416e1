import { constants } from 'node:os';
import { Command, Option } from 'commander';
import { finalize } from 'rxjs';
import type { Workers } from '../../gateway/workers/start-workers.js';
import { DEVICE_CHOICES } from '../../src/engine/device.js';
import { UsageError } from '../../src/files/file-errors.js';
import { DEFAULT_METHODS } from '../../src/uncertainty/method-names.js';
import { formatDevices } from '../devices.js';
import { addModelArgument, ModelOption } from '../model-option.js';
import { collectText, integer, parseBytes, parseMethods, precisionOption } from '../options.js';
import { say } from '../terminal.js';
import { checkPort, PORTS } from './check-port.js';
import { readChanged } from './read-changed.js';
import { reloadSignals } from './reload.js';
import { modelsToCalibrate, offerCalibrations } from './serve-calibration.js';
import { type ServeConfig, type ServeFlags, serveConfig } from './serve-config.js';
import { calibrationHints, guardWords, priceHints, scorerHints } from './serve-hints.js';
import { row, startNotice } from './serve-notices.js';

interface ServeOptions extends ServeFlags {
  readonly checkConfig?: true;
  readonly calibrate?: true;
  readonly watch?: true;
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'];
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** What a shell reports of a process that SIGINT ended: a second signal leaves no time for more. */
const EXIT_AT_ONCE = 130;

/** How often is looked whether the shell is there in which npm runs a script. */
const SHELL_MS = 500;

export function serveCommand(): Command {
  return addModelArgument(new Command('serve'))
    .addOption(
      new ModelOption(
        '--model <path>',
        'checkpoint folder in the Hugging Face layout, GGUF file, or OWNER/NAME of the Hugging Face hub (default: the embedded reasoner)',
      ),
    )
    .option('--upstream <url>', 'URL of an OpenAI-compatible server that runs the model, including /v1')
    .option('--upstream-model <name>', "the model's name on that server")
    .option('--port <number>', 'port; 0 selects a free one (default: 8787)', integer(0, 65535))
    .option('--config <file>', 'configuration in YAML or JSON; flags and environment variables override it')
    .optionsGroup('The model of --model or --upstream:')
    .option('--upstream-key-env <variable>', "environment variable with that server's API key")
    .addOption(
      new ModelOption(
        '--scorer <path>',
        "checkpoint, GGUF file or OWNER/NAME of the same weights that scores that server's output",
      ),
    )
    .option(
      '--scorer-url <url>',
      'inference server that runs the graphs of --scorer (repeatable); `flinch export triton` writes them',
      collectText,
    )
    .option('--scorer-model <name>', 'name of the exported model on that server')
    .addOption(
      new Option(
        '--device <name>',
        'execution device; auto selects the best one available (default: cpu)',
      ).choices(DEVICE_CHOICES),
    )
    .addOption(precisionOption())
    .option(
      '--calibration <file>',
      'calibration of --model or --scorer (default: the one beside it, or else the one that comes with flinch)',
    )
    .option(
      '--max-streams <number>',
      'maximum concurrent responses (default: 16, or 64 with --upstream)',
      integer(1, 4096),
    )
    .option(
      '--memory <size>',
      'limit for the predicted memory of all sequences, such as 4GB (default: 70 % of free memory)',
      parseBytes,
    )
    .option(
      '--calibrate',
      'calibrate models that have no calibration, while no request runs, with the prompts that come with flinch',
    )
    .optionsGroup('Network:')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--metrics-port <number>', 'separate port for /metrics', integer(0, 65535))
    .option(
      '--health-port <number>',
      'separate port for /livez, /readyz, /healthz and /metrics',
      integer(0, 65535),
    )
    .option('--workers <number>', 'processes that serve the port (default: 1)', integer(1, 256))
    .option('--allow-anonymous', 'allow non-loopback addresses without API keys')
    .optionsGroup('Other:')
    .option('--watch', 'reload --config, as on SIGHUP, when it or a file with the key of a client changes')
    .option('--check-config', 'print the resulting configuration and exit')
    .addOption(
      new Option('--log-level <level>', 'minimum level logged on standard error (default: info)').choices(
        LOG_LEVELS,
      ),
    )
    .addOption(
      new Option(
        '--log-format <name>',
        'form of the log: short lines, or JSON (default: pretty on a terminal, otherwise json)',
      ).choices(['pretty', 'json']),
    )
    .optionsGroup('For research:')
    .option(
      '--methods <names>',
      `scores of each token, unless a request, key or model has its own; without adversarial, the model writes at full speed (default: ${DEFAULT_METHODS.join(',')})`,
      parseMethods,
    )
    .addHelpText(
      'after',
      `
Every configuration field has an environment variable: FLINCH_LISTEN_PORT sets listen.port.
On SIGTERM or Ctrl-C, running responses may finish (shutdown.drain_s); a second signal aborts them.

Examples:
  $ flinch serve
  $ flinch serve ./model.gguf --port 9000
  $ flinch serve --upstream http://127.0.0.1:8000/v1 --upstream-model qwen \\
      --scorer ./Qwen2.5-0.5B-Instruct
  $ flinch serve ./model.gguf --calibrate
  $ curl -N http://127.0.0.1:8787/v1/chat/completions \\
      -H 'Content-Type: application/json' -d '{
      "model": "reasoner", "stream": true,
      "messages": [{"role": "user", "content": "What is 12 + 30 - 5?"}]}'`,
    )
    .action(serve);
}

async function serve(_: string | undefined, options: ServeOptions): Promise<void> {
  if (options.watch && options.config === undefined) throw new UsageError('--watch: requires --config');
  const config = await serveConfig(options, process.env);
  if (options.checkConfig) return checkConfig(config);
  if (options.calibrate && config.workers > 1)
    throw new UsageError(`--calibrate: needs one worker, which sees all requests, not ${config.workers}`);
  for (const part of PORTS) await checkPort(config, part);
  const { LogWriter } = await import('../../gateway/log-writer.js');
  // Serving goes on if this cannot be printed.
  const output = new LogWriter(1);
  output.write(`\n  loading ${Object.keys(config.models).join(', ')} ...\n`);
  // The gateway is a part of its own: other commands do not load it.
  const { IdleCalibrations, Metrics, startWorkers } = await import('../../gateway/index.js');
  const { exposedFiles } = await import('../../gateway/config/exposed-files.js');
  const { logFormat, openLog } = await import('../../gateway/open-log.js');
  const { startAlone } = await import('../../gateway/start-alone.js');
  // These checks come before reading large models.
  await checkUses(config);
  const metrics = new Metrics();
  const logger = openLog(config.log, {}, metrics);
  for (const exposed of await exposedFiles(config, { file: options.config, env: process.env }))
    logger.warn(exposed, 'other users may read this file with secrets; chmod 600 keeps them out');
  const ends = endSignals();
  // If there is no file, there is nothing to read again.
  const signals = options.config === undefined ? null : reloadSignals(options.watch ? options.config : null);
  const calibrations = new IdleCalibrations();
  const start = config.workers > 1 ? startWorkers : startAlone;
  const gateway = await start({ config, logger, metrics, calibrations });
  // An uncaught error belongs to a request or to a model, and must not end the others.
  const uncaught = (error: unknown): void => logger.error({ err: error }, 'unhandled rejection');
  process.on('unhandledRejection', uncaught);
  const ending = new AbortController();
  try {
    const { url, engines } = gateway;
    const models = describeModels(config, engines);
    if (logFormat(config.log) === 'json') logger.info({ models, url }, 'serving');
    const uncalibrated = await modelsToCalibrate(config, engines, logger, options.calibrate === true);
    offerCalibrations(uncalibrated, { logger, signal: ending.signal, calibrations, metrics });
    const calibrating = options.calibrate ? uncalibrated.map(({ name }) => name) : [];
    const hints = [...scorerHints(config), ...(await calibrationHints(config, engines, calibrating))];
    output.paint(startNotice({ url, models, guards: guardWords(config), hints }));
    priceHints(config, engines)
      .pipe(
        finalize(() => {
          for (const name of calibrating) if (calibrations.of(name)) calibrations.start(name);
        }),
      )
      .subscribe({
        next: (price) => output.paint(row('price', price)),
        error: (error: unknown) => logger.debug({ err: error }, 'speed not measured'),
      });
    signals?.reload({
      gateway,
      config,
      logger,
      metrics,
      read: (running, signal) => readChanged(options, running, signal),
    });
    await shutDown(gateway, ends.next, (fields, text) => logger.info(fields, text));
  } finally {
    process.off('unhandledRejection', uncaught);
    ending.abort();
    signals?.close();
    await gateway.close();
    ends.close();
  }
}

const describeModels = ({ models }: ServeConfig, engines: Workers['engines']): string[] =>
  Object.keys(models).map((name) => {
    const engine = engines.get(name);
    return engine ? `${name} on ${formatDevices(engine)}` : name;
  });

/**
 * Signals that end the process: at once while nobody waits for the next of them, as there is nothing to drain then. As
 * process 1 of a container it would hear none: that one has no default for them, and large models take their time to be
 * opened.
 *
 * The listeners stay the same throughout. A signal that comes before the event loop turns is lost if its last listener is
 * removed by then, even if another is added at once.
 */
function endSignals() {
  const waiting: ((signal: string) => void)[] = [];
  const heard = (signal: string, number: number): void => {
    clearInterval(watch);
    const next = waiting.shift() ?? (() => process.exit(128 + number));
    next(signal);
  };
  // A signal to `npm start` ends its shell, which passes none on.
  const shell = process.ppid;
  const isOrphan = (): boolean => process.env.npm_lifecycle_event !== undefined && process.ppid !== shell;
  const watch = setInterval(
    () => isOrphan() && heard('SIGTERM', constants.signals.SIGTERM),
    SHELL_MS,
  ).unref();
  for (const signal of SIGNALS) process.on(signal, heard);
  return {
    next: (): Promise<string> => new Promise((resolve) => waiting.push(resolve)),
    close: (): void => {
      clearInterval(watch);
      for (const signal of SIGNALS) process.off(signal, heard);
    },
  };
}

/** Waits for a signal, then for what is under way, but not for that when there is a second signal. */
async function shutDown(
  gateway: Pick<Workers, 'drain'>,
  nextSignal: () => Promise<string>,
  log: (fields: object, text: string) => void,
): Promise<void> {
  const signal = await nextSignal();
  const second = nextSignal();
  log({ signal }, 'draining');
  const early = await Promise.race([gateway.drain(), second]);
  log(early === undefined ? {} : { signal: early }, 'shutting down');
  if (early !== undefined) process.exitCode = EXIT_AT_ONCE;
}

/** Secrets, packages and variables that the configuration needs. @throws Error that names what is missing */
async function checkUses(config: ServeConfig): Promise<void> {
  const { checkAccess, checkWebhooks, loadState, readTraceVariables } = await import(
    '../../gateway/index.js'
  );
  const { checkSecretFiles } = await import('../../gateway/config/secret.js');
  await checkSecretFiles(config);
  checkAccess(config, process.env);
  checkWebhooks(config.webhooks, process.env);
  readTraceVariables(process.env);
  await loadState(config);
}

/** Prints the configuration as it is in force, and what would keep it from being. */
async function checkConfig(config: ServeConfig): Promise<void> {
  const { checkModels } = await import('../../gateway/index.js');
  const { stringify } = await import('yaml');
  const { shownConfig } = await import('../../gateway/config/content.js');
  await checkUses(config);
  await checkModels(config.models, process.env);
  say(stringify(shownConfig(config)));
}
