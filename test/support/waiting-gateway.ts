import { Writable } from 'node:stream';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type ConfigInput, type Gateway, type GatewayParts, Models, startGateway } from '#gateway/index.js';
import { WaitingModel } from './waiting-model.js';

export interface TestGateway extends Gateway {
  readonly model: WaitingModel;
  /** All that was logged, line by line, at every level. */
  readonly log: string[];
}

export interface TestGatewayOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly now?: () => number;
}

/** A gateway with a waiting model, closed by the caller. */
export async function startTestGateway(
  { bounds = {}, ...config }: ConfigInput & Pick<GatewayParts, 'bounds'> = {},
  { env = {}, now = Date.now }: TestGatewayOptions = {},
): Promise<TestGateway> {
  const model = new WaitingModel();
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
    bounds,
  });
  return { ...gateway, model, log };
}

/** The same for one test. */
export async function useTestGateway(
  config?: ConfigInput & Pick<GatewayParts, 'bounds'>,
  options?: TestGatewayOptions,
): Promise<TestGateway> {
  const gateway = await startTestGateway(config, options);
  onTestFinished(() => gateway.close());
  return gateway;
}
