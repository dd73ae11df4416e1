import type { ModelSource } from '../../graphs/decoder.js';
import type { GraphRunners } from '../child/graph-sessions.js';
import type { HeldSequences } from '../child/held-sequence.js';
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
import { ServedSequences } from './served-sequences.js';
import { Refusal } from './server-fault.js';
import { type Infer, ServerSessions } from './server-sessions.js';

/** Runs that are sent to one address at a time: one that computes and one that waits. */
const RUNS_PER_ADDRESS = 2;

/** Models of the export that a server has. */
interface Served {
  /** Whether it has the model whose keys and values it holds. */
  readonly held: boolean;
  /** Whether it has the models without a state. */
  readonly stateless: boolean;
}

export interface OpenedServers {
  readonly sessions: GraphRunners;
  /** Keys and values that the servers hold. */
  readonly held: HeldSequences | undefined;
  readonly concurrency: number;
  readonly status: () => ServerStatus[];
}

/**
 * Checks every address: health, metadata, and that it computes the scores that the export recorded. An address that
 * fails is checked again later. Sequences are used if all addresses that pass support them.
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
  const sessionsOf = (infer: Infer, { stateless }: Served): ServerSessions => {
    const served = new Map(stateless ? signatures : []);
    return new ServerSessions(served, source.config.vocabSize, infer);
  };
  const sequencesAt = (servers: AddressPool<ServerConnection>): HeldSequences => {
    const signature = signatures.get('sequence')!;
    return new ServedSequences({ servers, name: servedName(model, 'sequence'), signature, runtime });
  };

  const servedBy = async (server: ServerConnection): Promise<Served> => {
    const held = await keepsState(server, servedName(model, 'sequence'), signatures.get('sequence')!);
    if (held) await checkModel(server, servedName(model, 'sequence'), signatures.get('sequence')!);
    try {
      for (const graph of STATELESS_GRAPHS)
        await checkModel(server, servedName(model, graph), signatures.get(graph)!);
      return { held, stateless: true };
    } catch (error) {
      if (!held || !(error instanceof Refusal)) throw error;
      return { held, stateless: false };
    }
  };
  const check = async (server: ServerConnection): Promise<Served> => {
    const served = await servedBy(server);
    const infer: Infer = (graph, run) => server.infer(servedName(model, graph), run);
    const own = { sessions: sessionsOf(infer, served), source, alpha: recorded.alpha };
    if (served.held) {
      const alone = new AddressPool([server], { check: async () => {} });
      checkScores(await scoreText({ ...own, held: sequencesAt(alone) }), recorded.scores);
    }
    if (served.stateless) checkScores(await scoreText(own), recorded.scores);
    return served;
  };
  const reasonFor = (server: ServerConnection, error: unknown): string =>
    `inference server ${addresses.indexOf(server) + 1} of ${addresses.length}: ${error instanceof Error ? error.message : error}`;

  const checks = await Promise.allSettled(addresses.map(check));
  const broken = new Map<ServerConnection, string>();
  const passed: Served[] = [];
  for (const [i, result] of checks.entries()) {
    if (result.status === 'fulfilled') passed.push(result.value);
    else broken.set(addresses[i]!, reasonFor(addresses[i]!, result.reason));
  }
  if (passed.length === 0) throw new Error([...broken.values()].join('; '));
  const used: Served = {
    held: passed.every(({ held }) => held),
    stateless: passed.every(({ stateless }) => stateless),
  };
  if (!used.held && !used.stateless) throw new Error('the inference servers do not have the same models');
  for (const reason of broken.values()) lost(reason);

  const pool = new AddressPool<ServerConnection>(
    addresses,
    {
      check: async (server) => {
        const { held, stateless } = await check(server);
        if ((used.held && !held) || (used.stateless && !stateless))
          throw new Error('it does not have the models that the others have');
      },
      lost: (server, fault) => lost(reasonFor(server, fault)),
    },
    new Set(broken.keys()),
  );
  const infer: Infer = (graph, run) => pool.use((server) => server.infer(servedName(model, graph), run));
  return {
    sessions: sessionsOf(infer, used),
    held: used.held ? sequencesAt(pool) : undefined,
    concurrency: RUNS_PER_ADDRESS * addresses.length,
    status: () => pool.status().map((status, i) => ({ address: urls[i]!, ...status })),
  };
}
