import { type Logger, pino } from 'pino';
import { chalkStderr } from '../src/files/colours.js';
import type { Config } from './config/gateway-config.js';
import { logLine } from './log-line.js';
import { LogWriter } from './log-writer.js';
import type { Metrics } from './metrics/metrics.js';

/** Lines for people on a terminal, JSON elsewhere, unless the configuration says which. */
export const logFormat = ({ format }: Config['log']): 'pretty' | 'json' =>
  format ?? (process.stderr.isTTY ? 'pretty' : 'json');

/**
 * The log of this process, on standard error.
 * @param about fields of every line
 */
export function openLog(config: Config['log'], about: object, metrics: Metrics): Logger {
  const writer = new LogWriter(2, (lines) => metrics.logDropped(lines));
  const pretty = { write: (json: string) => writer.paint(logLine(json, chalkStderr)) };
  const destination = logFormat(config) === 'pretty' ? pretty : writer;
  return pino({ level: config.level, base: { pid: process.pid, ...about } }, destination);
}
