import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { CLI_ENTRY } from '#cli/entry.js';
import { freePort } from '../free-port.js';

/** A server in a process of its own. */
export interface RunningServer {
  readonly url: string;
  /** CPU time that its processes have taken, in milliseconds; `null` where there is no procfs to say so. */
  cpuMs(): number | null;
  stop(): Promise<void>;
}

const STARTED_MS = 60_000;
const PORTKEY = '@portkey-ai/gateway@1.15.2';

const script = (name: string): string =>
  fileURLToPath(new URL(`./${name}${extname(import.meta.url)}`, import.meta.url));

/** One of this folder's scripts, which tell their port. */
export async function startScript(
  name: 'fast-upstream' | 'null-proxy',
  args: string[] = [],
): Promise<RunningServer> {
  const child = fork(script(name), args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [message] = await Promise.race([once(child, 'message'), gone(child, name)]);
  const { port } = z.object({ port: z.number() }).parse(message);
  return running(child, `http://127.0.0.1:${port}`);
}

/** `flinch serve`. */
export async function startFlinch(args: string[]): Promise<RunningServer> {
  const port = await freePort();
  const node = ['--import', script('ends-with-parent'), CLI_ENTRY];
  const serve = ['serve', '--port', String(port), '--log-level', 'error', ...args];
  const child = spawn(process.execPath, [...node, ...serve], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return answering(child, 'flinch', `http://127.0.0.1:${port}`, '/healthz');
}

/** Portkey's gateway; installed into `folder` from the registry if it is not there yet. */
export async function startPortkey(folder: string): Promise<RunningServer> {
  const main = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (!existsSync(main)) {
    await mkdir(folder, { recursive: true });
    const install = ['install', '--prefix', folder, '--ignore-scripts', '--no-save', '--no-audit', PORTKEY];
    await promisify(execFile)('npm', install);
  }
  const port = await freePort();
  const env = { ...process.env, NODE_ENV: 'production' };
  const child = spawn(
    process.execPath,
    ['--import', script('mutable-headers'), main, `--port=${port}`, '--headless'],
    { env, stdio: 'ignore' },
  );
  return answering(child, 'portkey', `http://127.0.0.1:${port}`, '/');
}

async function answering(
  child: ChildProcess,
  name: string,
  url: string,
  path: string,
): Promise<RunningServer> {
  const end = new AbortController();
  const poll = async (): Promise<void> => {
    const late = performance.now() + STARTED_MS;
    while (!end.signal.aborted) {
      const response = await fetch(url + path).catch(() => null);
      if (response) return response.body?.cancel();
      if (performance.now() > late) throw new Error(`${name} does not answer`);
      await setTimeout(50);
    }
  };
  try {
    await Promise.race([poll(), gone(child, name)]);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    end.abort();
  }
  return running(child, url);
}

async function gone(child: ChildProcess, name: string): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`${name} exited (code ${code})`);
}

function running(child: ChildProcess, url: string): RunningServer {
  const exited = once(child, 'exit');
  return {
    url,
    cpuMs: () => cpuMsOf(child.pid),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await Promise.race([exited, setTimeout(3000, undefined, { ref: false })]);
      child.kill('SIGKILL');
    },
  };
}

/**
 * CPU time of the process and its children, such as workers. Linux counts hundredths of a second, for itself
 * and for the process (proc_pid_stat(5), utime and stime).
 */
function cpuMsOf(pid: number | undefined): number | null {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return null;
  const fields = readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  const ofChildren = children.reduce((sum, child) => sum + (cpuMsOf(Number(child)) ?? 0), 0);
  return 10 * (Number(fields[11]) + Number(fields[12])) + ofChildren;
}
