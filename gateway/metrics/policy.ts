import type { Counter } from 'prom-client';
import type { Definition } from './definition.js';
import type { Families } from './families.js';

/** Label of requests without a policy. */
const NO_POLICY = 'none';

export const POLICY_REQUESTS = {
  name: 'flinch_policy_requests_total',
  type: 'counter',
  help: 'Requests for a generation by the policy in force, and whether the policy accepted or refused the guard of the request. An accepted request may still be refused for another reason.',
  labels: {
    policy: 'the name of a policy of the configuration (`guard`), or `none`',
    result: ['accepted', 'refused'],
  },
} as const satisfies Definition;

/** How often the operator's policies were in force. */
export class PolicyMetrics {
  readonly #requests: Counter<'policy' | 'result'>;

  constructor(families: Families) {
    this.#requests = families.counter(POLICY_REQUESTS);
    this.watch([]);
  }

  /** Shows policies before they are used. */
  watch(names: readonly string[]): void {
    for (const policy of [NO_POLICY, ...names])
      for (const result of POLICY_REQUESTS.labels.result) this.#requests.inc({ policy, result }, 0);
  }

  request(policy: string | null, accepted: boolean): void {
    this.#requests.inc({ policy: policy ?? NO_POLICY, result: accepted ? 'accepted' : 'refused' });
  }
}
