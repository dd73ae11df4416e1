import cluster from 'node:cluster';
import { Metrics } from '../metrics/metrics.js';
import { openLog } from '../open-log.js';
import { startProcess } from '../start-alone.js';
import { Channel, type Message } from './channel.js';
import { remoteAccess } from './remote-access.js';
import { RemoteEngines } from './remote-engines.js';
import { RelayedGenerations, RemoteGenerations } from './remote-generations.js';
import type { OpenWorker, PrimarySide, WorkerSide } from './worker-messages.js';

/**
 * Entry of a worker: a whole gateway, but for what all workers have together, which is in the primary process. Ctrl-C
 * in the terminal, and a service manager's signals, reach it too; the primary process decides what they mean. Once
 * that one is gone, `node:cluster` ends this one.
 */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

interface Running extends Awaited<ReturnType<typeof startProcess>> {
  readonly metrics: Metrics;
  readonly relays: RelayedGenerations;
}

let running: Running | null = null;

const side: WorkerSide = {
  open: async (options) => {
    running = await open(options);
    const { url, live } = running.gateway;
    return { url, epoch: live.epoch };
  },
  reload: (changed) => running?.gateway.reload(changed),
  drain: async () => running?.drain(),
  close: async () => {
    await running?.close();
    // Ends once nothing is left to do, such as writing the log.
    cluster.worker?.disconnect();
  },
  received: (stream, message) => engines.received(stream, message),
  lost: (stream, code, message) => engines.lost(stream, code, message),
  changed: (model, state) => engines.changed(model, state),
  snapshot: async () => running?.metrics.snapshot() ?? { counted: [], histograms: [] },
  streams: () => (running ? streamsOf(running) : {}),
  resumeFor: (reader, point, owner) => running?.relays.resume(reader, point, owner) ?? null,
  actFor: (reader, action) => running?.relays.act(reader, action),
  workerGone: (name, epoch) => {
    running?.relays.gone(name);
    if (epoch !== null) generations.gone(epoch);
  },
  readerEvent: (reader, event) => generations.received(reader, event),
  holdsOwn: (owner) => running?.gateway.live.holdsOwn(owner) ?? false,
  forgetOwn: (owner, requestId) => running?.gateway.live.forgetLost(owner, requestId),
};

const primary = new Channel<PrimarySide>(
  (message) => process.send?.(message, undefined, undefined, () => {}),
  { ...side },
);
const engines = new RemoteEngines(primary);
const generations = new RemoteGenerations(primary);
process.on('message', (message: Message) => primary.receive(message));
primary.tell('listening');

async function open({ id, config, reloaded, engines: states }: OpenWorker): Promise<Running> {
  const metrics = new Metrics();
  const logger = openLog(config.log, { worker: id }, metrics);
  // The same as in a gateway of one process: other requests survive a fault of a request or of a model.
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
  const access = remoteAccess(primary);
  const started = await startProcess({
    config,
    reloaded,
    logger,
    metrics,
    shared: {
      host: (model) => engines.host(model, states[model]!),
      slots: (model, most) => ({
        most,
        taken: 0,
        take: (client) => access.usage.share(`streams:${model}`, most, client),
      }),
    },
    commons: {
      ...access,
      workers: config.workers,
      elsewhere: generations,
      collect: () => primary.call('collect'),
      health: () => primary.call('health'),
    },
  });
  return { ...started, metrics, relays: new RelayedGenerations(primary, started.gateway.live) };
}

/** Generations under way, by model. */
const streamsOf = ({ opened }: Running): Readonly<Record<string, number>> =>
  Object.fromEntries(opened.models.all.map((model) => [model.name, Number(model.status().streams ?? 0)]));
