import type { Counter, Gauge } from 'prom-client';
import type { Definition } from './definition.js';
import type { Families } from './families.js';

const RESULTS = ['accepted', 'refused'] as const;

export const RELOADS = {
  name: 'flinch_config_reloads_total',
  type: 'counter',
  help: 'Times that the configuration was read again, by whether its keys and policies were taken over or the file was refused.',
  labels: { result: RESULTS },
} as const satisfies Definition;

export const LAST_RELOAD = {
  name: 'flinch_config_last_reload_successful',
  type: 'gauge',
  help: '0 if the configuration was refused when it was last read again: the one before is in force. Otherwise 1.',
  labels: {},
  aggregator: 'min',
} as const satisfies Definition;

/** Reloads of the configuration. With workers, the first process counts them. */
export class ReloadMetrics {
  readonly #reloads: Counter<'result'>;
  readonly #last: Gauge;

  constructor(families: Families) {
    this.#reloads = families.counter(RELOADS);
    this.#last = families.gauge(LAST_RELOAD);
    for (const result of RESULTS) this.#reloads.inc({ result }, 0);
    this.#last.set(1);
  }

  reloaded(accepted: boolean): void {
    this.#reloads.inc({ result: accepted ? 'accepted' : 'refused' });
    this.#last.set(accepted ? 1 : 0);
  }
}
