import type { ModelSource } from '../../graphs/decoder.js';
import type { GraphRunners } from '../child/graph-sessions.js';
import type { HeldSequence } from '../child/held-sequence.js';
import type { Runtime } from '../child/sequence-run.js';
import { AddressPool } from './address-pool.js';
import { checkModel, keepsState } from './check-model.js';
import { checkScores, scoreText } from './check-scores.js';
import { ServerConnection } from './connection.js';
import type { ScoreServers, ServerStatus } from './score-servers.js';
import {
  buildServedGraph,
  SERVED_GRAPH_NAMES,
  STATELESS_GRAPHS,
  servedName,
  signatureOf,
} from './served-graphs.js';
import { ServedSequence } from './served-sequences.js';
import { type Infer, ServerSessions } from './server-sessions.js';

/** Runs that are sent to one address at a time: one that computes and one that waits. */
const RUNS_PER_ADDRESS = 2;

export interface OpenedServers {
  readonly sessions: GraphRunners;
  /** Opens a sequence whose keys and values the servers hold. */
  readonly held: (() => HeldSequence) | undefined;
  readonly concurrency: number;
  readonly status: () => ServerStatus[];
}

/**
 * Checks every address: health, metadata, and that it computes the scores that the export recorded. An address that
 * fails is checked again later. All that pass must keep keys and values, or none.
 * @param lost called with the reason why an address is not used
 * @throws Error if none passes
 */
export async function openServers(
  { source, runtime }: { readonly source: ModelSource; readonly runtime: Runtime },
  { urls, model, recorded, requestMs }: ScoreServers,
  lost: (reason: string) => void,
): Promise<OpenedServers> {
  const signatures = new Map(
    SERVED_GRAPH_NAMES.map((graph) => [graph, signatureOf(buildServedGraph(source, graph))]),
  );
  const addresses = urls.map((url) => new ServerConnection(url, requestMs));
  const sessionsOf = (infer: Infer): ServerSessions =>
    new ServerSessions(signatures, source.config.vocabSize, infer);
  const sequencesAt = (servers: AddressPool<ServerConnection>) => (): HeldSequence => {
    const signature = signatures.get('sequence')!;
    return new ServedSequence({ servers, name: servedName(model, 'sequence'), signature, runtime });
  };

  /** @returns whether the server keeps keys and values: then the other models are not asked for */
  const check = async (server: ServerConnection): Promise<boolean> => {
    const held = await keepsState(server, servedName(model, 'sequence'), signatures.get('sequence')!);
    for (const graph of held ? (['sequence'] as const) : STATELESS_GRAPHS)
      await checkModel(server, servedName(model, graph), signatures.get(graph)!);
    const sessions = sessionsOf((graph, run) => server.infer(servedName(model, graph), run));
    const alone = new AddressPool([server], { check: async () => {} });
    const own = { sessions, held: held ? sequencesAt(alone) : undefined, source, alpha: recorded.alpha };
    checkScores(await scoreText(own), recorded.scores);
    return held;
  };
  const reasonFor = (server: ServerConnection, error: unknown): string =>
    `inference server ${addresses.indexOf(server) + 1} of ${addresses.length}: ${error instanceof Error ? error.message : error}`;

  const checks = await Promise.allSettled(addresses.map(check));
  const broken = new Map<ServerConnection, string>();
  const passed = new Set<boolean>();
  for (const [i, result] of checks.entries()) {
    if (result.status === 'fulfilled') passed.add(result.value);
    else broken.set(addresses[i]!, reasonFor(addresses[i]!, result.reason));
  }
  const [held] = passed;
  if (held === undefined) throw new Error([...broken.values()].join('; '));
  if (passed.size > 1) throw new Error('the inference servers do not have the same models');
  for (const reason of broken.values()) lost(reason);

  const pool = new AddressPool<ServerConnection>(
    addresses,
    {
      check: async (server) => {
        if ((await check(server)) !== held)
          throw new Error('it does not have the models that the others have');
      },
      lost: (server, fault) => lost(reasonFor(server, fault)),
    },
    new Set(broken.keys()),
  );
  const infer: Infer = (graph, run) => pool.use((server) => server.infer(servedName(model, graph), run));
  return {
    sessions: sessionsOf(infer),
    held: held ? sequencesAt(pool) : undefined,
    concurrency: RUNS_PER_ADDRESS * addresses.length,
    status: () => pool.status().map((status, i) => ({ address: urls[i]!, ...status })),
  };
}
