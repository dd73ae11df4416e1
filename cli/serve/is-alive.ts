import { Agent, fetch } from 'undici';

const PATIENCE_MS = 5000;

/** Whether a gateway is there, which is no other program. */
export async function isAlive(host: string, port: number): Promise<boolean> {
  const name = host.includes(':') ? `[${host}]` : host;
  // What else is there may never end.
  const dispatcher = new Agent({ maxResponseSize: 1000 });
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await fetch(`http://${name}:${port}/livez`, { signal, dispatcher });
    return (await answer.text()) === '{"status":"alive"}';
  } catch {
    return false;
  } finally {
    await dispatcher.close();
  }
}
