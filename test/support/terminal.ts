import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '#lab/free-port.js';

/** Time limit of one command; the slowest opens an engine several times. */
const LIMIT_MS = 180_000;
const DEFAULT_PORT = '8787';
/** Function in place of npx for a command that is installed, without the start of npm. `command npx` is npx itself. */
const NPX = 'npx() { "$@"; }';

interface Server {
  readonly child: ChildProcess;
  readonly port: string;
  readonly output: () => string;
  readonly ended: Promise<unknown>;
}

/** Whether the last of the commands goes on until it is stopped. */
export const isServer = (commands: string): boolean =>
  /\b(npm start|flinch serve)\b(?!.*--(check-config|help)\b)/.test(commands.replaceAll('\\\n', ' '));

/**
 * Runs the commands of one document as its reader would, one block after the other: in one folder, with the variables
 * that were exported before, and with servers in other windows. Ports of the document are replaced by free ones.
 */
export class Terminal {
  readonly #folder: string;
  readonly #programs: string;
  readonly #state = mkdtempSync(join(tmpdir(), 'flinch-terminal-'));
  readonly #servers = new Map<string, Server>();
  readonly #sharedPort: string;

  /**
   * @param folder of a scratch package
   * @param sharedPort of a gateway that runs, which documents know by the default port
   */
  constructor(folder: string, sharedPort: string) {
    this.#folder = folder;
    this.#programs = join(folder, '../node_modules/.bin');
    this.#sharedPort = sharedPort;
    writeFileSync(this.#environment, '');
    // A request that is refused is a command that failed.
    writeFileSync(join(this.#state, '.curlrc'), 'fail-with-body\n');
  }

  get #environment(): string {
    return join(this.#state, 'environment');
  }

  /**
   * @returns what they print
   * @throws Error with the output where the exit status is not 0, or they take longer
   */
  async run(commands: string, limitMs = LIMIT_MS): Promise<string> {
    const script = `set -euo pipefail\n${NPX}\n. ${this.#environment}\n${this.withPorts(commands)}\nexport -p >${this.#environment}`;
    const { child, output, ended } = this.#spawn(script);
    const timer = globalThis.setTimeout(() => signal(child, 'SIGKILL'), limitMs);
    const code = await ended;
    clearTimeout(timer);
    if (code !== 0) throw new Error(`exit status ${code} of:\n${commands}\n\n${output()}`);
    return output();
  }

  /** Starts a server and waits until it answers; one that had its port before is stopped. */
  async serve(commands: string): Promise<void> {
    const documented = /(?:--port[ =]|\bPORT=)(\d+)/.exec(commands)?.[1] ?? DEFAULT_PORT;
    await this.#stop(documented);
    const port = String(await freePort());
    const given = this.withPorts(commands).replaceAll(/((?:--port[ =]|\bPORT=))\d+/g, `$1${port}`);
    const script = `set -euo pipefail\n${NPX}\n. ${this.#environment}\nexport PORT=${port}\n${given}`;
    const { child, output, ended } = this.#spawn(script);
    const server: Server = { child, port, output, ended };
    this.#servers.set(documented, server);
    let over = false;
    void ended.then(() => (over = true));
    for (let waited = 0; !(await isAlive(port)); waited += 50) {
      if (over || waited > LIMIT_MS) throw new Error(`does not serve:\n${commands}\n\n${output()}`);
      await setTimeout(50);
    }
  }

  /** Ends the servers as `kill` and process managers do, and says which went on nevertheless. */
  async close(): Promise<string[]> {
    const left = await Promise.all([...this.#servers.keys()].map((port) => this.#stop(port)));
    rmSync(this.#state, { recursive: true });
    return left.flat();
  }

  async #stop(documented: string): Promise<string[]> {
    const server = this.#servers.get(documented);
    if (!server) return [];
    this.#servers.delete(documented);
    signal(server.child, 'SIGTERM');
    const ended = await Promise.race([
      server.ended.then(() => true),
      setTimeout(60_000, false, { ref: false }),
    ]);
    if (!ended) signal(server.child, 'SIGKILL');
    return ended && !(await isAlive(server.port)) ? [] : [`port ${documented}: ${server.output()}`];
  }

  /** Addresses of the document as those that they are here. */
  withPorts(text: string): string {
    return text.replaceAll(/\b(127\.0\.0\.1|localhost):(\d+)/g, (whole, host: string, port: string) => {
      const known = this.#servers.get(port)?.port ?? (port === DEFAULT_PORT ? this.#sharedPort : undefined);
      return known === undefined ? whole : `${host}:${known}`;
    });
  }

  /** A group of its own, so that nothing of it is left. */
  #spawn(script: string): { child: ChildProcess; output: () => string; ended: Promise<number | null> } {
    const child = spawn('bash', ['-c', script], {
      cwd: this.#folder,
      env: { ...environment(), CURL_HOME: this.#state, PATH: `${this.#programs}:${process.env.PATH}` },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    return { child, output: () => output, ended };
  }
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  // A group, never "all": process.kill means that by -1.
  if (pid !== undefined && pid > 1) process.kill(-pid, name);
}

/**
 * Environment without the variables that npm sets for its scripts, such as this test: with them npx would look here.
 * NODE_OPTIONS is left out, too: with it programs would run the sources instead of the package.
 */
function environment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^npm_|^INIT_CWD$|^NODE_ENV$|^VITEST|^FLINCH_|^PORT$|^NODE_OPTIONS$/.test(name),
  );
  return { ...Object.fromEntries(inherited), FORCE_COLOR: '0', npm_config_update_notifier: 'false' };
}

async function isAlive(port: string): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/livez`).catch(() => null);
  return answer?.status === 200;
}
