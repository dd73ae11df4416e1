import { setTimeout as wait } from 'node:timers/promises';
import { trace } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { readTraceVariables } from './otel-variables.js';
import { type DropReason, SpanQueue } from './span-queue.js';

/** Time limit for spans that are left at the end. */
const FLUSH_MS = 3000;
/**
 * Time limit for the exporter at the end: its work under way cannot be cancelled, and would hold the process until its
 * own time is over.
 */
const LEAVE_MS = 500;

export interface ExportOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly logger: Logger;
  readonly dropped: (reason: DropReason, spans: number) => void;
}

export interface TraceExport {
  /**
   * Sends the spans that are left.
   * @param ms how long that may take
   */
  close(ms?: number): Promise<void>;
  /** The process has nothing else to do: it ends, whether or not a collector has answered. */
  leave(): void;
}

/**
 * Sends the spans of this process to an OpenTelemetry collector, as the variables `OTEL_*` say; for processes of
 * flinch's own, as it sets the SDK of the whole process.
 * @returns `null` where they name no collector, and where the process has an SDK already
 * @throws ConfigError for a variable that cannot be used
 */
export async function exportTraces({ env, logger, dropped }: ExportOptions): Promise<TraceExport | null> {
  const settings = readTraceVariables(env);
  if (!settings) return null;
  const { tracerProvider } = await import('./sdk.js');
  const queue = new SpanQueue({ ...settings, dropped, sent: reportChanges(logger) });
  const provider = tracerProvider(queue);
  if (!trace.setGlobalTracerProvider(provider)) return null;
  const close = async (ms = FLUSH_MS): Promise<void> => {
    provider.forceFlush().catch(() => {}); // told by `sent`
    await Promise.race([queue.idle(), wait(ms, null, { ref: false })]);
    if (queue.waiting > 0) logger.warn({ spans: queue.waiting }, 'spans were not exported');
    queue.close();
  };
  const leave = (): void => {
    if (queue.waiting > 0) setTimeout(() => process.exit(), LEAVE_MS).unref();
  };
  return { close, leave };
}

/** Says when the collector is lost, and when it is back, but not of each batch; without its address. */
function reportChanges(logger: Logger): (error: unknown) => void {
  let isLost = false;
  return (error) => {
    if (error !== null && !isLost) logger.warn({ reason: reasonOf(error) }, 'spans cannot be exported');
    if (error === null && isLost) logger.info('spans are exported again');
    isLost = error !== null;
  };
}

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error ? String(error.code) : error.message;
};
