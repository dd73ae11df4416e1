import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { checkAccess } from '../../gateway/access/access.js';
import { keyHash } from '../../gateway/access/access-keys.js';
import { OwnUsage } from '../../gateway/access/usage.js';
import { exposedFiles } from '../../gateway/config/exposed-files.js';
import { checkSecretFiles } from '../../gateway/config/secret.js';
import { loadState } from '../../gateway/state/load-state.js';
import { readTraceVariables } from '../../gateway/tracing/otel-variables.js';
import { checkWebhooks } from '../../gateway/webhooks/webhooks.js';
import { readsPending } from '../../src/files/regular-file.js';
import { shownAddress } from '../../src/files/shown-address.js';
import { listenProblem } from '../exit-errors.js';
import { checkPort, PORTS, portFlag, RUNNING, RunningAlready } from '../serve/check-port.js';
import { isAlive } from '../serve/is-alive.js';
import { type ServeConfig, type ServeFlags, serveConfig } from '../serve/serve-config.js';
import { shellWord } from '../shell-word.js';
import { attempt, bad, type Finding, ok } from './doctor-finding.js';
import { modelsFindings } from './doctor-models.js';

const PATIENCE_MS = 5000;

/** Everything that `flinch serve` with the same flags needs. */
export async function diagnose(flags: ServeFlags, env: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  const source = flags.config ?? 'defaults, environment and flags';
  let config: ServeConfig;
  try {
    config = await serveConfig(flags, env);
  } catch (error) {
    return attempt('configuration', () => Promise.reject(error));
  }
  const files = await attempt('secrets', async () => {
    await checkSecretFiles(config);
    return [];
  });
  // Whatever reads such a file would wait, too.
  if (readsPending()) return [ok('configuration', source), ...files];
  const parts = await Promise.all([
    [ok('configuration', source)],
    accessFindings(config, env),
    secretFindings(config, flags, env),
    portFindings(config),
    modelsFindings(config, env),
    redisFindings(config),
    attempt('webhooks', () => {
      checkWebhooks(config.webhooks, env);
      return config.webhooks.length === 0
        ? []
        : ok('webhooks', `${config.webhooks.length}, with their secrets`);
    }),
    attempt('traces', () => {
      const read = readTraceVariables(env);
      return read ? ok('traces', 'are sent as OTEL_EXPORTER_OTLP_ENDPOINT says') : [];
    }),
  ]);
  return parts.flat();
}

async function accessFindings(config: ServeConfig, env: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  const { keys } = config.access;
  const each = keys.map((key) => {
    const make = 'openssl rand -base64 32';
    const remedy =
      key.key_file === undefined
        ? `export ${key.env}="$(${make})"`
        : `(umask 077 && ${make} > ${shellWord(key.key_file)})`;
    return attempt(
      'access',
      () => {
        keyHash(key, env);
        return [];
      },
      remedy,
      key.name,
    );
  });
  const wrong = (await Promise.all(each)).flat();
  if (wrong.length > 0) return wrong;
  const open = 'access: {keys: [{name: web, env: FLINCH_WEB_KEY}]}';
  return attempt(
    'access',
    () => {
      checkAccess(config, env);
      return ok(
        'access',
        keys.length > 0
          ? `${keys.length} ${keys.length === 1 ? 'key' : 'keys'}`
          : 'no keys: everyone who can reach the port',
      );
    },
    open,
  );
}

async function secretFindings(
  config: ServeConfig,
  { config: file }: ServeFlags,
  env: NodeJS.ProcessEnv,
): Promise<readonly Finding[]> {
  return (await exposedFiles(config, { file, env })).map(({ file, mode }) =>
    bad('warning', 'secrets', `${file}: other users may read it (${mode})`, `chmod 600 ${shellWord(file)}`),
  );
}

async function portFindings(config: ServeConfig): Promise<readonly Finding[]> {
  const findings = PORTS.map(async (part): Promise<readonly Finding[]> => {
    const { host, port } = config[part];
    if (port === undefined || port === 0) return [];
    const address = `${host}:${port}`;
    try {
      await checkPort(config, part);
      return [ok('port', 'is free', address)];
    } catch (error) {
      const remedy = `flinch serve ${portFlag(part)} 0`;
      if (error instanceof RunningAlready) return [bad('warning', 'port', RUNNING, remedy, address)];
      // Its other ports answer other questions.
      if (part !== 'listen' && (await isAlive(config.listen.host, config.listen.port)))
        return [ok('port', 'is in use, as flinch runs already', address)];
      const found = error instanceof Error ? (listenProblem(error) ?? error.message) : String(error);
      return [bad('problem', 'port', found, remedy, address)];
    }
  });
  return (await Promise.all(findings)).flat();
}

function redisFindings(config: ServeConfig): Promise<readonly Finding[]> {
  const { state } = config;
  return attempt('redis', async () => {
    const { openState } = await loadState(config);
    if (!state || !openState) return [];
    const opened = openState(state, {
      logger: pino({ level: 'silent' }),
      now: Date.now,
      usage: new OwnUsage(),
      resumeMs: 0,
      historyEvents: 0,
      observe: () => {},
    });
    try {
      for (let waited = 0; !opened.up && waited < PATIENCE_MS; waited += 50) await setTimeout(50);
      const shown = shownAddress(state.url);
      if (opened.up) return ok('redis', `${shown} answers`);
      const remedy = `redis-cli -u ${shellWord(shown)} ping`;
      return bad('problem', 'redis', `${shown} does not answer within ${PATIENCE_MS / 1000} s`, remedy);
    } finally {
      await opened.close();
    }
  });
}
