import type { Role } from '../../src/engine/engine-messages.js';
import type { ServerStatus } from '../../src/engine/server/score-servers.js';
import type { WatchedEngine } from '../answers/served-model.js';
import type { Instruments } from './instruments.js';
import type { Families } from './metric-families.js';

/**
 * Reads the processes of a model that the gateway runs itself, or of the scorer of one that it does not.
 * @returns a function that removes our listeners from the engine, which may outlive us
 */
export function watchEngine(
  { engine, servers }: Pick<Instruments, 'engine' | 'servers'>,
  families: Pick<Families, 'beforeRead'>,
  model: string,
  { engine: watched, processes }: WatchedEngine,
): () => void {
  const passes = engine.passDuration.series({ model });
  const stop = watched.onPass((ms) => passes.observe(ms / 1000));
  const restartsOf = new Map<Role, number>();
  const countedOf = new Map<string, ServerStatus>();
  families.beforeRead(() => {
    const status = watched.status();
    for (const server of status.score.servers) {
      readServer(servers, model, server, countedOf.get(server.address));
      countedOf.set(server.address, server);
    }
    for (const process of processes) {
      const { device, restarts, waiting } = status[process];
      const labels = { model, process };
      engine.engineUp.set(labels, device === undefined ? 0 : 1);
      engine.queueDepth.set(labels, waiting);
      engine.restarts.inc(labels, restarts - (restartsOf.get(process) ?? 0));
      restartsOf.set(process, restarts);
    }
  });
  return stop;
}

/** An inference server that scores for a model; each worker has the values of the one process that uses it. */
function readServer(
  instruments: Instruments['servers'],
  model: string,
  status: ServerStatus,
  before: ServerStatus | undefined,
): void {
  const labels = { model, address: status.address };
  instruments.serverUp.set(labels, status.up ? 1 : 0);
  instruments.serverSequences.set(labels, status.sequences);
  const counters = [
    ['runs', instruments.serverRuns],
    ['failures', instruments.serverFailures],
    ['seconds', instruments.serverSeconds],
    ['lostSequences', instruments.sequencesLost],
  ] as const;
  for (const [field, counter] of counters) {
    const known = before?.[field] ?? 0;
    // A score process that began again counts from 0.
    counter.inc(labels, status[field] < known ? status[field] : status[field] - known);
  }
}
