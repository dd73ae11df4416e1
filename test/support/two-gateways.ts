import { pino } from 'pino';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import {
  type ConfigInput,
  type Gateway,
  type GatewayParts,
  Models,
  type ServedModel,
  startGateway,
} from '#gateway/index.js';
import { RedisServer } from './redis.js';

interface Choices {
  /** One for each of the two. */
  readonly model: () => Promise<ServedModel> | ServedModel;
  readonly config?: Pick<ConfigInput, 'access' | 'streams'> & Pick<GatewayParts, 'bounds'>;
  readonly env?: NodeJS.ProcessEnv;
}

/** Two gateways in this process with one Redis, for the tests of one file. */
export function useTwoGateways({ model, config: { bounds = {}, ...config } = {}, env = {} }: Choices) {
  const running: { server?: RedisServer; gateways: Gateway[] } = { gateways: [] };
  beforeAll(async () => {
    const server = await RedisServer.start();
    running.server = server;
    for (let i = 0; i < 2; i++) {
      const gateway = await startGateway({
        models: new Models([await model()]),
        config: { ...config, listen: { port: 0 }, state: { url: server.url } },
        logger: pino({ level: 'silent' }),
        env,
        bounds,
      });
      running.gateways.push(gateway);
    }
    const ready = async ({ url }: Gateway) => expect((await fetch(`${url}/readyz`)).status).toBe(200);
    for (const gateway of running.gateways) await vi.waitFor(() => ready(gateway), 120_000);
  });
  afterAll(async () => {
    await Promise.all(running.gateways.map((gateway) => gateway.close()));
    await running.server?.kill();
  });
  return {
    get redis(): RedisServer {
      return running.server!;
    },
    /** Gateway for a turn: the two alternate. */
    at(turn: number): Gateway {
      return running.gateways[turn % 2]!;
    },
  };
}
