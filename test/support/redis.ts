import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { freeze } from './process.js';

/** Whether Debian's package `redis-server`, or another, is installed; `.ci/run` does that where it can. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** A real Redis that keeps nothing on disk, on a port that stays the same. */
export class RedisServer {
  readonly port: number;
  readonly #args: readonly string[];
  #child: ChildProcess | null = null;

  private constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.#args = args;
  }

  static async start(...args: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), args);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    this.#child = spawn('redis-server', [...args, ...this.#args], { stdio: 'ignore' });
    for (let i = 0; i < 1000; i++) {
      if (await this.#listens()) return;
      if (this.#child.exitCode !== null) break;
      await setTimeout(10);
    }
    throw new Error('redis-server did not start');
  }

  /** Kills it; all data is lost. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  stop(): void {
    freeze(this.#child?.pid);
  }

  goOn(): void {
    freeze(this.#child?.pid, 'SIGCONT');
  }

  /** Runs a command by redis-cli, independent of our client. */
  command(...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync('redis-cli', ['-p', String(this.port), ...args]);
    if (status !== 0) throw new Error(String(stderr));
    return String(stdout).trim();
  }

  async #listens(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
  }
}

/** A Redis for the tests of one file, which each find it empty if they say so. */
export function useRedis(...args: readonly string[]) {
  const running: { server?: RedisServer } = {};
  beforeAll(async () => {
    running.server = await RedisServer.start(...args);
  });
  afterAll(() => running.server?.kill());
  return {
    get server(): RedisServer {
      return running.server!;
    },
  };
}
