import { constants, setPriority } from 'node:os';
import type { Conversion } from '../../checkpoint/conversion.js';
import { shownAddress } from '../../files/shown-address.js';
import type { FromDecode, FromScore, OpenMessage, ToDecode, ToScore } from '../engine-messages.js';
import { openIntegerWeights, packedWeights } from '../integer-weights.js';
import { openRoundedWeights } from '../rounded-weights.js';
import type { ServerStatus } from '../server/score-servers.js';
import { DecodeWorker, decodeGraph } from './decode-worker.js';
import { Sessions } from './graph-sessions.js';
import { probeDecode, probeScore } from './probe-passes.js';
import { ScoreWorker, type ScoreWorkerOptions } from './score-worker.js';
import { runtimeOf } from './sequence-run.js';

/**
 * Entry of an engine process. It owns its sessions and dies with its parent; Ctrl-C in the terminal, its end, and a
 * service manager's SIGTERM reach the whole process group, and the parent is the one that decides what they mean.
 */
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
process.on('SIGTERM', () => {});
process.on('disconnect', () => process.exit(0));
process.once('message', (message: OpenMessage) => void open(message));
process.on('message', ({ type }: ToDecode | ToScore) => {
  if (type === 'ping') send({ type: 'pong' });
});

/** A message that cannot be delivered means that the parent is gone. */
const send = (message: FromDecode | FromScore): void => {
  process.send?.(message, undefined, undefined, (error) => {
    if (error) process.exit(0);
  });
};

const report = (progress: Conversion): void => send({ type: 'converting', progress });

async function open(message: OpenMessage): Promise<void> {
  try {
    await (message.role === 'decode' ? openDecode(message) : openScore(message));
    send({ type: 'ready', device: message.device });
  } catch (error) {
    send({ type: 'unavailable', message: String(error) });
    process.disconnect();
  }
}

async function openDecode(message: OpenMessage): Promise<void> {
  const { threads, device, contextLength, prefixCacheBytes, integers, together } = message;
  if (device === 'inference-server') throw new Error('an inference server only scores');
  const packed = device === 'cpu' && integers ? packedWeights(message.source) : null;
  const rounded =
    packed && integers?.written ? await openIntegerWeights(message.source, integers.written, report) : [];
  const source = { ...message.source, ...(packed && { integers: new Map([...packed, ...rounded]) }) };
  // Products of integers are slow unless they are packed.
  const sessions = new Sessions(source, {
    threads,
    device,
    packed: packed !== null,
    ...(together && { together }),
  });
  for (const rows of [2, 1]) await sessions.get(decodeGraph([rows], source, device));
  if (device !== 'cpu') await probeDecode({ sessions, source, threads, contextLength });
  const worker = new DecodeWorker({
    sessions,
    source,
    threads,
    device,
    contextLength,
    prefixCacheBytes,
    send,
  });
  process.on('message', (message: ToDecode) => {
    if (message.type === 'generate') worker.generate(message);
    else if (message.type === 'credit') worker.credit(message.stream, message.tokens);
    else if (message.type === 'cancel') worker.cancel(message.stream);
  });
}

async function openScore(message: OpenMessage): Promise<void> {
  // Before threads are made, which inherit it.
  if (message.givesWay) setPriority(constants.priority.PRIORITY_LOW);
  const { source, threads, device, contextLength, prefixCacheBytes } = message;
  const worker = new ScoreWorker({
    ...(await openGraphs(message)),
    source,
    threads,
    device,
    contextLength,
    prefixCacheBytes,
    send,
  });
  process.on('message', (message: ToScore) => {
    if (message.type === 'pass') worker.pass(message);
    else if (message.type === 'read') worker.read(message);
    else if (message.type === 'fork') worker.fork(message);
    else if (message.type === 'replicas') worker.replicas(message.stream, message.options);
    else if (message.type === 'sample') worker.sample(message);
    else if (message.type === 'release') worker.release(message.stream);
  });
}

/** Opens the sessions or the connection that run the graphs of the score process. */
async function openGraphs({
  source,
  threads,
  device,
  contextLength,
  together,
  integers,
  servers,
}: OpenMessage): Promise<Pick<ScoreWorkerOptions, 'sessions' | 'held' | 'concurrency'>> {
  if (servers) {
    const { openServers } = await import('../server/open-servers.js');
    const runtime = runtimeOf({ source, threads, device });
    const lost = (message: string): void => send({ type: 'server_lost', message });
    const { status, ...opened } = await openServers({ source, runtime }, servers, lost);
    reportServers(status);
    return opened;
  }
  if (device === 'inference-server') throw new Error('no inference server is configured');
  const rounded =
    device === 'cpu' && integers
      ? await openRoundedWeights(source, integers.rounded, report)
      : source.rounded;
  const options = { threads, device, ...(together && { together }) };
  const sessions = new Sessions({ ...source, ...(rounded && { rounded }) }, options);
  await sessions.get({ kind: 'score', sequences: 1, form: 'derivative', ...(rounded && { rounded: true }) });
  if (device !== 'cpu') await probeScore({ sessions, source, threads, contextLength });
  return { sessions };
}

const REPORT_MS = 1000;

function reportServers(status: () => readonly ServerStatus[]): void {
  let last = '';
  const tell = (): void => {
    const servers = status().map((one) => ({ ...one, address: shownAddress(one.address) }));
    const now = JSON.stringify(servers);
    if (now !== last) send({ type: 'servers', servers });
    last = now;
  };
  tell();
  setInterval(tell, REPORT_MS).unref();
}
