import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { processMemory } from '#bench/process-memory.js';
import { readAnswer } from '../../read-answer.js';
import type { RunningServer } from '../servers.js';

/** Resources of the gateway at one moment. */

const probed = z.object({
  loop: z.object({ p50: z.number(), p99: z.number(), max: z.number() }),
  memory: z.object({ heapUsed: z.number(), external: z.number(), rss: z.number() }),
});

export interface Sample {
  readonly seconds: number;
  /**
   * Memory of the gateway's own process, in bytes: heap and buffers after a collection, and private pages.
   */
  readonly heap: number;
  readonly private: number;
  /** Memory of all its children. */
  readonly children: number;
  readonly descriptors: number;
  readonly processes: number;
  /** Milliseconds by which the event loop was late since the sample before, at most and at the 99th percentile. */
  readonly loopMax: number;
  readonly loopP99: number;
}

export async function sampleOf({ child }: RunningServer, seconds: number): Promise<Sample> {
  const answered = once(child, 'message');
  child.send('probe');
  const { loop, memory } = probed.parse((await answered)[0]);
  const pid = child.pid ?? 0;
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean);
  const privates = await Promise.all(
    children.map(async (one) => (await processMemory(Number(one)))?.private ?? 0),
  );
  return {
    seconds,
    heap: memory.heapUsed + memory.external,
    private: (await processMemory(pid))?.private ?? 0,
    children: privates.reduce((sum, bytes) => sum + bytes, 0),
    descriptors: (await readdir(`/proc/${pid}/fd`)).length,
    processes: children.length,
    loopMax: loop.max,
    loopP99: loop.p99,
  };
}

/** Health checks, as an orchestrator sends them. */
export interface Health {
  readonly checks: number;
  /** `/livez` that was not 200, or did not answer within 5 s. */
  readonly dead: number;
  readonly notReady: number;
  readonly slowestMs: number;
}

const PATIENCE_MS = 5000;

const EVERY_MS = 1000;

export class HealthWatch {
  readonly #url: string;
  #health = { checks: 0, dead: 0, notReady: 0, slowestMs: 0 };

  constructor(url: string) {
    this.#url = url;
  }

  get health(): Health {
    return this.#health;
  }

  /** Asks every second until the signal comes. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.check();
      await setTimeout(EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** @returns whether the gateway is ready */
  async check(): Promise<boolean> {
    const start = performance.now();
    const live = await this.#status('/livez');
    const ready = (await this.#status('/readyz')) === 200;
    this.#health.slowestMs = Math.max(this.#health.slowestMs, performance.now() - start);
    this.#health.checks += 1;
    if (live !== 200) this.#health.dead += 1;
    if (!ready) this.#health.notReady += 1;
    return ready;
  }

  async #status(path: string): Promise<number | null> {
    try {
      const response = await fetch(this.#url + path, { signal: AbortSignal.timeout(PATIENCE_MS) });
      await readAnswer(response);
      return response.status;
    } catch {
      return null;
    }
  }
}

/** The sum over all labels of one metric. */
export async function metric(url: string, apiKey: string, name: string): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
  const lines = (await readAnswer(response)).split('\n').filter((line) => /^\w+/.exec(line)?.[0] === name);
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
