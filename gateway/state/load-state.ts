import { optionalPackage } from '../../src/files/optional-package.js';
import type { Config } from '../config/gateway-config.js';
import type { OpenState } from './state.js';

/** Exports of the package `flinch-redis`. */
interface RedisPackage {
  readonly openState: OpenState;
}

const REDIS_PACKAGE: string = 'flinch-redis';

/**
 * Loads the package that opens the state of a configuration, if it has one.
 * @throws UsageError where the package is not installed
 */
export async function loadState({ state }: Pick<Config, 'state'>): Promise<Partial<RedisPackage>> {
  if (!state) return {};
  const { openState } = await optionalPackage<RedisPackage>(
    '`state` (Redis)',
    REDIS_PACKAGE,
    () => import(REDIS_PACKAGE),
  );
  return { openState };
}
