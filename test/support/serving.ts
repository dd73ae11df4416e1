import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { z } from 'zod';
import { type Running, start } from './cli.js';
import { isAlive } from './process.js';

const health = z.object({
  status: z.string(),
  models: z.array(z.looseObject({ id: z.string(), streams: z.number() })),
  workers: z.array(
    z.object({ id: z.number(), pid: z.number().nullable(), restarts: z.number(), ready: z.boolean() }),
  ),
});
const line = z.looseObject({ msg: z.string(), worker: z.number().optional() });

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** `flinch serve`, in processes of its own. */
export class Serving {
  readonly process: Running;
  url = '';

  private constructor(process: Running) {
    this.process = process;
  }

  static async start(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Serving> {
    const serving = new Serving(start(['serve', '--port', '0', ...args], null, env));
    const { stdout, stderr, child } = serving.process;
    for (let i = 0; i < 1000 && child.exitCode === null; i++) {
      serving.url = /http:\/\/[\d.:]+/.exec(stdout())?.[0] ?? '';
      if (serving.url !== '') return serving;
      await setTimeout(100);
    }
    child.kill('SIGKILL');
    throw new Error(`nothing is served: ${stderr()}`);
  }

  get pid(): number {
    return this.process.child.pid!;
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.process.child.kill(signal);
  }

  async health() {
    return health.parse(JSON.parse((await this.get('/healthz')).text));
  }

  /** Lines of the log so far. */
  get log(): readonly z.output<typeof line>[] {
    const lines = this.process.stderr().split('\n').slice(0, -1);
    return lines.filter((each) => each.startsWith('{')).map((each) => line.parse(JSON.parse(each)));
  }

  get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    this.send('GET', path, undefined, headers);

  /** Sends a request on a connection of its own, which goes to the workers by turns. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const answer = await new Promise<{ status: number; body: Promise<string> }>((resolve, reject) => {
      const asked = request(
        `${this.url}${path}`,
        { agent: false, method, headers: { 'Content-Type': 'application/json', ...headers } },
        (response) => resolve({ status: response.statusCode ?? 0, body: text(response) }),
      );
      asked.on('error', reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
    return { status: answer.status, text: await answer.body };
  }
}

/** Waits until none of the processes is there. */
export async function gone(pids: readonly number[]): Promise<void> {
  for (let i = 0; i < 200 && pids.some(isAlive); i++) await setTimeout(50);
  expect(pids.filter(isAlive)).toEqual([]);
}
