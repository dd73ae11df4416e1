import type { ModelSource } from '../../graphs/decoder.js';
import type { GraphRunners } from '../child/graph-sessions.js';
import { AddressPool } from './address-pool.js';
import { checkScores, scoreText } from './check-scores.js';
import type { ScoreServers } from './score-servers.js';
import { servedName } from './served-graphs.js';
import { ServerAddress } from './server-address.js';
import { type Infer, ServerSessions, signaturesOf } from './server-sessions.js';

/** Runs that are sent to one address at a time: one that computes and one that waits. */
const RUNS_PER_ADDRESS = 2;

export interface OpenServers {
  readonly sessions: GraphRunners;
  readonly concurrency: number;
}

/**
 * Checks every address: health, metadata, and that it computes the scores that the export recorded. One that does not
 * pass is checked again later.
 * @param lost told why an address is not used
 * @throws Error if none passes
 */
export async function openServers(
  source: ModelSource,
  { urls, model, recorded, requestMs }: ScoreServers,
  lost: (reason: string) => void,
): Promise<OpenServers> {
  const signatures = signaturesOf(source);
  const { vocabSize } = source.config;
  const sessionsOf = (infer: Infer) => new ServerSessions(signatures, vocabSize, infer);
  const addresses = urls.map((url) => new ServerAddress(url, requestMs));
  const check = async (address: ServerAddress): Promise<void> => {
    for (const [graph, signature] of signatures)
      await address.checkModel(servedName(model, graph), signature);
    const sessions = sessionsOf((graph, ...run) => address.infer(servedName(model, graph), ...run));
    checkScores(await scoreText({ sessions, source, alpha: recorded.alpha }), recorded.scores);
  };
  const reasonFor = (address: ServerAddress, error: unknown): string =>
    `inference server ${addresses.indexOf(address) + 1} of ${addresses.length}: ${error instanceof Error ? error.message : error}`;

  const checks = await Promise.allSettled(addresses.map(check));
  const failed = checks.flatMap((result, i) =>
    result.status === 'rejected'
      ? [{ address: addresses[i]!, reason: reasonFor(addresses[i]!, result.reason) }]
      : [],
  );
  if (failed.length === addresses.length) throw new Error(failed.map(({ reason }) => reason).join('; '));
  for (const { reason } of failed) lost(reason);
  const pool = new AddressPool(
    addresses,
    { check, lost: (address, fault) => lost(reasonFor(address, fault)) },
    new Set(failed.map(({ address }) => address)),
  );
  const infer: Infer = (graph, ...run) =>
    pool.use((address) => address.infer(servedName(model, graph), ...run));
  return { sessions: sessionsOf(infer), concurrency: RUNS_PER_ADDRESS * addresses.length };
}
