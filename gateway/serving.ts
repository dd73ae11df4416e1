import type { Logger } from 'pino';
import type { Access } from './access/access.js';
import type { Answering } from './answers/answering.js';
import type { Models } from './answers/models.js';
import type { Config } from './config/gateway-config.js';
import type { ConnectionBounds } from './connection-bounds.js';
import type { Lifecycle } from './generations/lifecycle.js';
import type { LiveGenerations } from './generations/live-generations.js';
import type { Metrics } from './metrics/metrics.js';

/** What requests and connections of a gateway are served with. */
export interface Serving {
  readonly models: Models;
  readonly answering: Answering;
  readonly live: LiveGenerations;
  readonly access: Access;
  readonly lifecycle: Lifecycle;
  readonly settings: Pick<Config, 'limits' | 'streams'> & { readonly bounds: ConnectionBounds };
  readonly metrics: Metrics;
  readonly logger: Logger;
}
