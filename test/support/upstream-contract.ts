import { afterAll, beforeAll, describe } from 'vitest';
import { useFolder } from './cli.js';
import { continuations } from './upstream-contract/continuations.js';
import { ContractBench } from './upstream-contract/contract-bench.js';
import { faults } from './upstream-contract/faults.js';
import { probing } from './upstream-contract/probing.js';
import { requests } from './upstream-contract/requests.js';
import { rollbacks } from './upstream-contract/rollbacks.js';
import { scored } from './upstream-contract/scored.js';
import { tokens } from './upstream-contract/tokens.js';
import type { Subject } from './upstream-subjects.js';

type Part = (bench: ContractBench) => void;

/** The faults come last: they end the server. */
const PARTS: readonly Part[] = [probing, tokens, requests, continuations, scored, rollbacks, faults];

/** Contract of flinch with any server. Each test is one point of docs/upstreams.md. */
export function upstreamContract(subject: Subject, parts = PARTS): void {
  const { name, model, missing } = subject;

  describe.skipIf(missing !== '')(`${name} with ${model.name}${missing}`, () => {
    const folder = useFolder();
    const bench = new ContractBench(subject, folder.path);
    beforeAll(() => bench.start());
    afterAll(() => bench.close());
    for (const part of parts) part(bench);
  });
}
