import { setTimeout } from 'node:timers/promises';
import { answerOf, answerText, FlinchClient, FlinchError } from 'flinch-client';
import { CompletionRecord } from 'flinch-client/protocol';
import { APIConnectionError, APIError, OpenAI } from 'openai';
import { lastValueFrom, tap } from 'rxjs';
import type { Chance } from './chance.js';
import type { Tally } from './tally.js';

/** Streams that do nothing wrong, and how each ended. */

export const GROUPS = ['proxied, SSE', 'proxied, WebSocket', 'scored upstream', 'own model'] as const;
export type Group = (typeof GROUPS)[number];

/** Errors that may end a stream after a fault of an engine process; no other error is documented for this. */
const ENGINE_ERRORS = ['engine_crashed', 'engine_stalled', 'engine_unavailable'];
const DOCUMENTED: Readonly<Record<Group, readonly string[]>> = {
  'proxied, SSE': [],
  'proxied, WebSocket': [],
  'scored upstream': ENGINE_ERRORS,
  'own model': ENGINE_ERRORS,
};
export const WHOLE = 'whole';
export const isHarm = (group: Group, outcome: string): boolean =>
  outcome !== WHOLE && !DOCUMENTED[group].includes(outcome);

export const MODELS: Readonly<Record<Group, string>> = {
  'proxied, SSE': 'proxied',
  'proxied, WebSocket': 'proxied',
  'scored upstream': 'scored',
  'own model': 'own',
};

/** Tokens of a proxied answer, and the milliseconds between two of them. */
const TOKENS = 48;
const INTERVAL_MS = 500;
/** Text of the benchmarks' upstream (`../fast-upstream.ts`). */
const DIGITS = Array.from({ length: TOKENS }, (_, i) => (i % 20 === 19 ? '\n' : String((7 * i) % 10))).join(
  '',
);
const QUESTIONS = [
  'What is 12 + 30 - 5?',
  'What is (47 - 12) * 3 + 8?',
  'What is 36 * 6 - 14?',
  'What is 91 - 17 + 4 * 2?',
];
/** Own models write as fast as they can: between two answers their users read. */
const READING_MS = 4000;
const PER_CONNECTION = 8;

interface Answer {
  readonly text: string;
  /** Whether each token has its scores, or the reason why it has none. */
  readonly accounted: boolean;
  readonly verdict: boolean;
}

export interface HonestOptions {
  readonly url: string;
  readonly apiKey: string;
  readonly signal: AbortSignal;
  readonly tally: Tally;
  /** Called with the longest time in which a proxied stream brought nothing, milliseconds. */
  readonly silence: (group: Group, milliseconds: number) => void;
  /** Called with whatever should not have happened. */
  readonly harmed: (what: string) => void;
}

/** Keeps `count` streams of a group under way until the signal comes, and waits for the last of them. */
export async function honestStreams(
  group: Group,
  count: number,
  chance: Chance,
  options: HonestOptions,
): Promise<void> {
  const { url, apiKey, signal } = options;
  const sockets = group.endsWith('WebSocket')
    ? Array.from({ length: Math.ceil(count / PER_CONNECTION) }, () => new FlinchClient({ url, apiKey }))
    : [];
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0, timeout: 600_000 });
  const one = async (_: unknown, i: number): Promise<void> => {
    const socket = sockets[i % Math.max(1, sockets.length)];
    const read: Read = socket ? overSocket(socket, MODELS[group]) : overHttp(openai, MODELS[group]);
    await pause(chance.integer(0, TOKENS * INTERVAL_MS), signal);
    while (!signal.aborted) {
      const prompt =
        group === 'own model' ? chance.of(QUESTIONS) : `tokens=${TOKENS} interval=${INTERVAL_MS} digits`;
      const outcome = await outcomeOf(group, prompt, read, options);
      options.tally.add(group, outcome);
      if (isHarm(group, outcome)) options.harmed(`${group}: ${outcome}`);
      // A client waits before it tries again.
      if (group === 'own model' || outcome !== WHOLE) await pause(READING_MS, signal);
    }
  };
  try {
    await Promise.all(Array.from({ length: count }, one));
  } finally {
    for (const socket of sockets) socket.close();
  }
}

const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  setTimeout(milliseconds, undefined, { signal }).catch(() => {});

/** `whole`, the code of an error, or what is wrong. */
async function outcomeOf(
  group: Group,
  prompt: string,
  read: Read,
  { silence }: HonestOptions,
): Promise<string> {
  let last = performance.now();
  let longest = 0;
  const seen = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  try {
    const { text, accounted, verdict } = await read(prompt, seen);
    if (group.startsWith('proxied')) silence(group, longest);
    if (text !== expected(group, prompt, text)) return 'another text';
    if (!accounted) return 'tokens without scores';
    return verdict ? WHOLE : 'no verdict';
  } catch (error) {
    if (error instanceof FlinchError) return error.code;
    if (error instanceof APIConnectionError) return `connection: ${causesOf(error)}`;
    if (error instanceof APIError)
      return typeof error.code === 'string' ? error.code : `status ${error.status}`;
    return `${error}`;
  }
}

/** Why a connection ended: the system's reason is in the innermost error. */
const causesOf = (error: Error): string =>
  error.cause instanceof Error ? causesOf(error.cause) : error.message;

/** First answer of a model to each prompt: all others at temperature 0 must be equal. */
const answers = new Map<string, string>();
function expected(group: Group, prompt: string, text: string): string {
  if (group !== 'own model') return DIGITS;
  const first = answers.get(prompt) ?? text;
  answers.set(prompt, first);
  return first;
}

/** Reasons for an answer without a verdict that indicate a loss. */
const LOST: readonly (string | null)[] = ['protocol_error', 'no_flinch', 'no_verdict', 'guard_off'];

/** @param seen called for whatever arrives */
type Read = (prompt: string, seen: () => void) => Promise<Answer>;

const overHttp =
  (client: OpenAI, model: string): Read =>
  async (content, seen) => {
    const stream = await client.chat.completions.create({
      model,
      stream: true,
      temperature: 0,
      messages: [{ role: 'user', content }],
    });
    const record = new CompletionRecord();
    let text = '';
    for await (const chunk of stream) {
      seen();
      record.addChunk(chunk);
      text += chunk.choices[0]?.delta.content ?? '';
    }
    const { tokens, verdict } = record.metadata;
    return {
      text,
      accounted: tokens.every(({ scores, reason }) => scores !== undefined || reason === 'lag'),
      verdict: !LOST.includes(verdict.reason),
    };
  };

const overSocket =
  (client: FlinchClient, model: string): Read =>
  async (content, seen) => {
    const request = { model, temperature: 0, messages: [{ role: 'user', content }] } as const;
    const answer = await lastValueFrom(client.generate(request).pipe(tap(seen), answerOf()));
    if (answer.error) throw answer.error;
    return {
      text: answerText(answer),
      accounted: answer.tokens.every(({ scores, reason }) => scores !== null || reason === 'lag'),
      verdict: answer.verdict !== null,
    };
  };
