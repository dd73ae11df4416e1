import { ConfigError } from '../config/config-error.js';

const PROTOCOL = 'http/protobuf';

/**
 * Whether traces are exported, by the variables that all SDKs of OpenTelemetry share; what else these say, the SDK reads
 * itself.
 * @throws ConfigError for one that cannot be used, which the SDK would pass over
 */
export function readTraceVariables(env: NodeJS.ProcessEnv): { readonly most?: number } | null {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return null;
  const of = (...names: readonly string[]) => names.find((name) => env[name]?.trim());
  const endpoint = of('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT');
  if (endpoint === undefined) return null;
  const kind = env.OTEL_TRACES_EXPORTER?.trim() || 'otlp';
  if (kind === 'none') return null;
  if (kind !== 'otlp') throw new ConfigError('OTEL_TRACES_EXPORTER', 'must be otlp or none');
  const protocol = of('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL');
  if (protocol !== undefined && env[protocol]?.trim() !== PROTOCOL)
    throw new ConfigError(protocol, `must be ${PROTOCOL}`);
  const url = env[endpoint] ?? '';
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new ConfigError(endpoint, 'must be an http:// or https:// address');
  const most = Number(env.OTEL_BSP_MAX_QUEUE_SIZE);
  return most > 0 ? { most } : {};
}
