import { basename, resolve } from 'node:path';
import { ConfigError } from '../../gateway/config/config-error.js';
import type { Config } from '../../gateway/config/gateway-config.js';
import { type ConfigLayer, nest } from '../../gateway/config/layer.js';
import { snapshotName } from '../../src/checkpoint/model-path.js';
import { reasonerPath } from '../../src/package-root.js';
import type { Method } from '../../src/uncertainty/method-names.js';

/** Characters of a model's name, as gateway/config/gateway-config.ts has it. */
const MAX_NAME = 128;

/** Flags of `flinch serve` that set a field of the configuration; those that were not given are not there. */
export interface ServeFlags {
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
  readonly metricsPort?: number;
  readonly healthPort?: number;
  readonly workers?: number;
  readonly allowAnonymous?: true;
  readonly methods?: readonly Method[];
  readonly logLevel?: string;
  readonly logFormat?: string;
  readonly model?: string;
  readonly upstream?: string;
  readonly upstreamModel?: string;
  readonly upstreamKeyEnv?: string;
  readonly scorer?: string;
  readonly scorerUrl?: readonly string[];
  readonly scorerModel?: string;
  readonly device?: string;
  readonly precision?: string;
  readonly calibration?: string;
  readonly maxStreams?: number;
  readonly memory?: number;
}

/** The configuration of a gateway that has something to serve. */
export type ServeConfig = Config & { readonly models: NonNullable<Config['models']> };

/**
 * Defaults < file < environment < flags. Where none of them names a model it is the embedded one.
 * @throws ConfigError that says where what is refused came from
 */
export async function serveConfig(flags: ServeFlags, env: NodeJS.ProcessEnv): Promise<ServeConfig> {
  // Loaded when it is needed: other commands have no gateway.
  const { loadConfig } = await import('../../gateway/config/load-config.js');
  const sources = { env, ...(flags.config !== undefined && { file: flags.config }) };
  const layers = [...fieldFlags(flags), ...modelFlags(flags)];
  const config = await loadConfig({ ...sources, flags: layers });
  if (config.models) {
    const stray = settingsOf(flags).find(([, , value]) => value !== undefined);
    if (stray && !flags.model && !flags.upstream) {
      throw new ConfigError(
        stray[0],
        'requires --model or --upstream; models in the configuration have their own settings',
      );
    }
    return { ...config, models: config.models };
  }
  return serveConfig({ ...flags, model: reasonerPath }, env);
}

/** The flags that set one field whatever is served. */
const FIELD_FLAGS: readonly {
  readonly flag: string;
  readonly path: readonly string[];
  readonly value: (flags: ServeFlags) => unknown;
}[] = [
  { flag: '--host', path: ['listen', 'host'], value: ({ host }) => host },
  { flag: '--port', path: ['listen', 'port'], value: ({ port }) => port },
  { flag: '--metrics-port', path: ['metrics', 'port'], value: ({ metricsPort }) => metricsPort },
  { flag: '--health-port', path: ['health', 'port'], value: ({ healthPort }) => healthPort },
  { flag: '--workers', path: ['workers'], value: ({ workers }) => workers },
  {
    flag: '--allow-anonymous',
    path: ['access', 'allow_anonymous'],
    value: ({ allowAnonymous }) => allowAnonymous,
  },
  { flag: '--methods', path: ['guard', 'defaults', 'methods'], value: ({ methods }) => methods },
  { flag: '--log-level', path: ['log', 'level'], value: ({ logLevel }) => logLevel },
  { flag: '--log-format', path: ['log', 'format'], value: ({ logFormat }) => logFormat },
];

/** Flags by the field that they set, such as `listen.port`. */
export const FLAG_OF_FIELD: ReadonlyMap<string, string> = new Map(
  FIELD_FLAGS.map(({ flag, path }) => [path.join('.'), flag]),
);

function fieldFlags(flags: ServeFlags): ConfigLayer[] {
  return FIELD_FLAGS.flatMap(({ flag, path, value }): ConfigLayer[] => {
    const given = value(flags);
    return given === undefined ? [] : [{ values: nest(path, given), location: () => flag }];
  });
}

type Setting = readonly [flag: string, field: string, value: unknown];

const settingsOf = ({ device, precision, calibration, maxStreams, memory }: ServeFlags): Setting[] => [
  ['--device', 'device', device],
  ['--precision', 'precision', precision],
  ['--calibration', 'calibration', calibration],
  ['--max-streams', 'max_streams', maxStreams],
  ['--memory', 'memory', memory],
];

const ofUpstream = ({ upstreamModel, upstreamKeyEnv, ...flags }: ServeFlags): Setting[] => [
  ['--upstream-model', 'model', upstreamModel],
  ['--upstream-key-env', 'key_env', upstreamKeyEnv],
  ...ofScorer(flags),
];

const ofScorer = ({ scorer, scorerUrl, scorerModel }: ServeFlags): Setting[] => [
  ['--scorer', 'scorer', scorer],
  ['--scorer-url', 'scorer_url', scorerUrl],
  ['--scorer-model', 'scorer_model', scorerModel],
];

/** The one model that flags describe, if they do. */
function modelFlags(flags: ServeFlags): ConfigLayer[] {
  const { model, upstream, upstreamModel, upstreamKeyEnv } = flags;
  const settings = given(settingsOf(flags));
  if (upstream !== undefined) {
    if (model !== undefined) throw new ConfigError('--upstream', 'cannot be used with --model');
    if (upstreamModel === undefined) throw new ConfigError('--upstream', 'requires --upstream-model');
    const server = { url: upstream, ...(upstreamKeyEnv !== undefined && { key_env: upstreamKeyEnv }) };
    const entry = { upstreams: [server], ...given(ofScorer(flags)), ...settings };
    return [modelLayer(upstreamModel, entry, '--upstream', flags)];
  }
  const [stray] = ofUpstream(flags).filter(([, , value]) => value !== undefined);
  if (stray) throw new ConfigError(stray[0], 'requires --upstream');
  if (model === undefined) return [];
  return [modelLayer(nameOf(model), { checkpoint: model, ...settings }, '--model', flags)];
}

/**
 * Name of the folder or the GGUF file, in characters that requests can contain: `my model` is served as
 * `my-model`.
 */
function nameOf(folder: string): string {
  const name = (snapshotName(resolve(folder)) ?? basename(resolve(folder)))
    .replace(/\.gguf$/i, '')
    .replace(/[^A-Za-z0-9._:@-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '');
  return name.slice(0, MAX_NAME) || 'model';
}

/** @param flag that is at fault for what has none of its own */
function modelLayer(name: string, entry: object, flag: string, flags: ServeFlags): ConfigLayer {
  const flagOf = (field: PropertyKey | undefined): string =>
    [...settingsOf(flags), ...ofUpstream(flags)].find(([, known]) => known === field)?.[0] ?? flag;
  return { values: { models: { [name]: entry } }, location: (path) => flagOf(path.at(-1)) };
}

const given = (settings: readonly Setting[]): Record<string, unknown> =>
  Object.fromEntries(
    settings.flatMap(([, field, value]) => (value === undefined ? [] : [[field, value] as const])),
  );
