import type { Counter, Gauge } from 'prom-client';
import type { Definition } from './definition.js';
import type { Families } from './families.js';

const KINDS = ['http', 'websocket'] as const;
const RESUMES = ['recovered', 'lost'] as const;

export const ACTIVE_GENERATIONS = {
  name: 'flinch_active_generations',
  type: 'gauge',
  help: 'Generations that are running or being admitted.',
  labels: {},
} as const satisfies Definition;

export const CONNECTIONS = {
  name: 'flinch_connections',
  type: 'gauge',
  help: 'Open connections; a WebSocket counts for both kinds.',
  labels: { kind: KINDS },
} as const satisfies Definition;

export const RESUMED = {
  name: 'flinch_resumes_total',
  type: 'counter',
  help: 'Requests to resume a generation, over WebSocket or Server-Sent Events, by whether all following events were still available.',
  labels: { outcome: RESUMES },
} as const satisfies Definition;

/** Values that are read when the metrics are requested. */
export interface ConnectionSources {
  readonly generations: () => number;
  readonly connections: () => Readonly<Record<(typeof KINDS)[number], number>>;
}

/** Connections, generations under way on them, and whether these could go on after a connection was lost. */
export class ConnectionMetrics {
  readonly #families: Families;
  readonly #generations: Gauge;
  readonly #connections: Gauge<'kind'>;
  readonly #resumes: Counter<'outcome'>;

  constructor(families: Families) {
    this.#families = families;
    this.#generations = families.gauge(ACTIVE_GENERATIONS);
    this.#connections = families.gauge(CONNECTIONS);
    this.#resumes = families.counter(RESUMED);
    for (const outcome of RESUMES) this.#resumes.inc({ outcome }, 0);
  }

  watch({ generations, connections }: ConnectionSources): void {
    this.#families.beforeRead(() => {
      this.#generations.set(generations());
      const open = connections();
      for (const kind of KINDS) this.#connections.set({ kind }, open[kind]);
    });
  }

  resumed(recovered: boolean): void {
    this.#resumes.inc({ outcome: recovered ? 'recovered' : 'lost' });
  }
}
