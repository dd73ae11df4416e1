import { Writable } from 'node:stream';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type ConfigInput, type Gateway, Models, startGateway } from '#gateway/index.js';
import { ScriptedModel } from './scripted-model.js';

export interface ScriptedGateway extends Gateway {
  readonly model: ScriptedModel;
  /** All that was logged, line by line, at every level. */
  readonly log: string[];
}

export interface ScriptedOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly now?: () => number;
}

/** A gateway with a scripted model, closed by the caller. */
export async function startScripted(
  config: ConfigInput = {},
  { env = {}, now = Date.now }: ScriptedOptions = {},
): Promise<ScriptedGateway> {
  const model = new ScriptedModel();
  const log: string[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      log.push(String(chunk));
      done();
    },
  });
  const logger = pino({ level: 'trace' }, sink);
  const listen = { port: 0, ...config.listen };
  const gateway = await startGateway({
    models: new Models([model]),
    config: { ...config, listen },
    logger,
    env,
    now,
  });
  return { ...gateway, model, log };
}

/** The same for one test. */
export async function useScripted(config?: ConfigInput, options?: ScriptedOptions): Promise<ScriptedGateway> {
  const gateway = await startScripted(config, options);
  onTestFinished(() => gateway.close());
  return gateway;
}
