import type { ChalkInstance } from 'chalk';
import { z } from 'zod';
import { visible, visibleLine } from '../src/files/visible.js';

/** Levels of pino. */
const WARN = 40;
const ERROR = 50;

const recordSchema = z.looseObject({
  level: z.number(),
  time: z.number(),
  msg: z.string().default(''),
});

const errorSchema = z.object({ stack: z.string() });

const requestSchema = z.object({
  msg: z.literal('request'),
  method: z.string(),
  route: z.string(),
  status: z.number().nullable(),
  ms: z.number(),
  model: z.string().optional(),
  code: z.string().optional(),
  complete: z.boolean().optional(),
  policy: z.string().optional(),
  completion_tokens: z.number().optional(),
  flagged: z.boolean().nullish(),
  flagged_steps: z.number().default(0),
  reason: z.string().optional(),
  escalation: z.object({ to: z.string(), failed: z.string().nullable() }).optional(),
  vote: z.object({ answers: z.number(), agreed: z.number() }).optional(),
});

type Request = z.output<typeof requestSchema>;
type Outcome = Omit<Request, 'msg' | 'method' | 'route' | 'status' | 'ms'>;

/** Files of the page, and what pages, monitors and Prometheus ask for again and again. */
const UNSEEN = new Set(['page', '/v1/models', '/livez', '/readyz', '/healthz', '/metrics']);

/**
 * A record of the log as people read it, with its line break: a request as one short line, everything else with all
 * its fields, errors with their stack. What is asked for by itself has no line, unless it fails.
 * @param json as pino writes it
 * @param chalk colours of the terminal
 */
export function logLine(json: string, chalk: ChalkInstance): string {
  const record: unknown = JSON.parse(json);
  const request = requestSchema.safeParse(record).data;
  if (request && UNSEEN.has(request.route) && (request.status ?? 500) < 400) return '';
  const { level, time, msg, pid: _, err, ...fields } = recordSchema.parse(record);
  const error = errorSchema.safeParse(err).data;
  const about = pairs(error ? fields : { ...fields, err });
  const words = request
    ? requestWords(request, chalk)
    : [levelWord(level, chalk), visibleLine(msg), ...about];
  const clock = chalk.dim(new Date(time).toLocaleTimeString('en-GB'));
  const stack = error ? `${indented(visible(error.stack))}\n` : '';
  return `${[clock, ...words].filter((word) => word !== '').join(' ')}\n${stack}`;
}

const requestWords = ({ method, route, status, ms, ...rest }: Request, chalk: ChalkInstance): string[] => [
  visibleLine(`${method} ${route}`),
  statusWord(status, chalk),
  visibleLine(rest.model ?? ''),
  `${ms} ms`,
  rest.complete === false ? 'cut off' : visibleLine(rest.code ?? ''),
  visibleLine(outcomeWords(rest)),
];

/** How an answer came out. Nothing for what is no answer. */
function outcomeWords({ flagged, reason, policy, escalation, vote, ...counts }: Outcome): string {
  const { completion_tokens: tokens, flagged_steps: steps } = counts;
  if (tokens === undefined) return '';
  const words = [
    `${tokens} tokens`,
    policy !== undefined && `policy ${policy}`,
    steps > 0 && `${steps} flagged ${steps === 1 ? 'step' : 'steps'}`,
    reason === 'stopped' && 'stopped by the guard',
    flagged === true && reason !== 'stopped' && 'flagged',
    flagged === null && `not judged (${reason})`,
    escalation && `escalated to ${escalation.to}`,
    escalation && escalation.failed !== null && `which failed (${escalation.failed})`,
    vote && `${vote.agreed} of ${vote.answers} votes`,
  ];
  return words.filter((word) => typeof word === 'string').join(', ');
}

/** @param status `null` where the client left before there was one */
function statusWord(status: number | null, chalk: ChalkInstance): string {
  if (status === null) return chalk.yellow('no answer');
  const colour = status < 400 ? chalk.green : status < 500 ? chalk.yellow : chalk.red;
  return colour(String(status));
}

function levelWord(level: number, chalk: ChalkInstance): string {
  if (level >= ERROR) return chalk.red('error:');
  return level >= WARN ? chalk.yellow('warning:') : '';
}

const pairs = (fields: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(
      ([name, value]) => `${name}=${visibleLine(typeof value === 'string' ? value : JSON.stringify(value))}`,
    );

const indented = (text: string): string => text.replace(/^/gm, '  ');
