import { TOP_TOKENS } from '../../graphs/statistics-graph.js';
import type {
  Adversary,
  FromScore,
  PassMessage,
  PassToken,
  ReadMessage,
  ReplicaOptions,
  SampleMessage,
} from '../engine-messages.js';
import type { KvCache } from '../kv-cache.js';
import { fitsOneRun, rowsPerRun } from '../run-limits.js';
import { ChunkedPass } from './chunked-pass.js';
import type { GraphRunners } from './graph-sessions.js';
import type { HeldSequence } from './held-sequence.js';
import { LEAST_ROOM, portion } from './prefix-cache.js';
import type { Replicas } from './replicas.js';
import type { AttackedWindow, Top, Window } from './score-pass.js';
import type { Runtime } from './sequence-run.js';

export interface Sequence {
  readonly ids: number[];
  cache: KvCache;
  /** Keys and values on an inference server; runs that cannot be done there use `cache`. */
  held: HeldSequence | null;
  /** Positions at the beginning that were read, and that no pass has computed since. */
  clean: number;
  /** The client whose text was read ahead. */
  readFor: string | undefined;
  readonly replicas: Map<ReplicaOptions['kind'], Replicas>;
}

/** Whether products are rounded. */
interface Rounded {
  readonly rounded: boolean;
}

interface Context {
  readonly runtime: Runtime;
  readonly sessions: GraphRunners;
}

/** One run that a job asks for; those of the same kind may go through together. */
export type Run =
  | ({ readonly kind: 'forward'; readonly window: Window } & Top & Rounded)
  | ({ readonly kind: 'score'; readonly window: AttackedWindow; readonly adversary: Adversary } & Top &
      Rounded)
  | { readonly kind: 'own'; readonly execute: () => Promise<void> };

/** Steps of a message's work, run by run; each run returns the statistics of its targets. */
export type Steps = Generator<Run, FromScore, readonly PassToken[]>;

/** The usual number of tokens and that number asked for are one graph. */
export const topOf = ({ top }: Top): Top => (top === undefined || top === TOP_TOKENS ? {} : { top });

/** Copies a sequence between two runs: during one the cache holds perturbed keys and values. */
export function* forkSequence(stream: number, source: Sequence, sequence: Sequence): Steps {
  const length = sequence.ids.length;
  const execute = async (): Promise<void> => {
    sequence.cache = source.cache.fork(length);
    if (source.held) sequence.held = source.held.fork(length);
    for (const [kind, replicas] of source.replicas) sequence.replicas.set(kind, replicas.fork(length));
  };
  yield { kind: 'own', execute };
  return { type: 'forked', stream };
}

export function* readSequence(
  { stream, end, probabilities = true }: ReadMessage,
  sequence: Sequence,
  { runtime, sessions }: Context,
): Steps {
  const { held, ids, cache } = sequence;
  if (held) {
    yield* ownRuns(held.read(ids, end));
  } else {
    cache.reserve(end);
    yield* fill(sequence, end, { runtime, rounded: sessions.rounds && !probabilities });
  }
  return { type: 'read', stream };
}

/** A pass, after what lies before its window. Room is made first: what does not fit fails before others join. */
export function* scoreSequence(message: PassMessage, sequence: Sequence, context: Context): Steps {
  const { runtime, sessions } = context;
  const { stream, start, from, to, adversary, logprobs } = message;
  const { ids, cache, held } = sequence;
  const most = topOf(message);
  const positions = to - 1 - start;
  const targets = ids.slice(from, to);
  const fits = fitsOneRun(runtime, { rows: positions, keys: to - 1, scored: targets.length });
  cache.check(to - 1);
  if (held && (!adversary || (fits && adversary.form === 'derivative'))) {
    const tokens = yield* ownRuns(held.score(ids, { start, from, to, adversary, ...most }));
    return { type: 'scored', stream, tokens, positions };
  }
  // A derivative of rounded products says nothing of probabilities: a pass of its own does.
  const rounded = sessions.rounds && adversary?.form === 'derivative';
  const plain = !adversary || (rounded && !logprobs);
  const first = plain ? from - 1 : start;
  sequence.clean = Math.min(sequence.clean, first);
  cache.reserve(to - 1);
  // If there is no adversary, only the scored rows themselves are needed, whatever the window.
  yield* fill(sequence, first, { runtime, rounded: rounded && !plain });
  const known = plain ? yield* forwardSequence({ ids, cache }, { from, to, ...most }, runtime) : [];
  if (!adversary) return { type: 'scored', stream, tokens: known, positions };

  const attacked = adversary.attacked ?? targets.map(() => true);
  const doubts = (logprobs ?? known.map(({ probability }) => probability!.logprob)).map(doubtOf);
  const window = {
    cache,
    start,
    ids: ids.slice(start, to - 1),
    targets,
    attacked,
    ...(rounded && { doubts }),
  };
  const clean = plain ? cache.read(start, window.ids.length) : null;
  const tokens = fits
    ? yield { kind: 'score', window, adversary, rounded, ...most }
    : yield* ownRuns(new ChunkedPass(context, window, adversary, { ...most, rounded }).steps());
  if (clean) cache.write(start, window.ids.length, clean);
  const whole = tokens.map((token, i) => ({
    ...token,
    probability: token.probability ?? known[i]?.probability ?? null,
  }));
  return { type: 'scored', stream, tokens: whole, positions };
}

/** 1 − p. */
const doubtOf = (logprob: number): number => -Math.expm1(Math.min(0, logprob));

/** A plain forward pass over tokens `from` to `to − 1`, in as many runs as it takes. */
function* forwardSequence(
  { ids, cache }: Pick<Sequence, 'ids' | 'cache'>,
  { from, to, ...most }: { readonly from: number; readonly to: number } & Top,
  runtime: Runtime,
): Generator<Run, PassToken[], readonly PassToken[]> {
  const tokens: PassToken[] = [];
  const size = rowsPerRun(runtime, { keys: to, passes: 1, scored: true });
  for (let start = from - 1; start < to - 1; start += size) {
    const end = Math.min(to - 1, start + size);
    const targets = ids.slice(start + 1, end + 1);
    const window = { cache, start, ids: ids.slice(start, end), targets };
    tokens.push(...(yield { kind: 'forward', window, rounded: false, ...most }));
  }
  return tokens;
}

export function* sampleSequence({ stream, kind, from, to }: SampleMessage, sequence: Sequence): Steps {
  const { ids, cache } = sequence;
  const replicas = sequence.replicas.get(kind);
  if (!replicas) throw new Error(`the sequence has no replicas of kind ${kind}`);
  cache.check(to - 1);
  replicas.cut(from - 1);
  const values = yield* ownRuns(replicas.advance(ids.slice(0, to), from));
  return { type: 'sampled', stream, values };
}

/** Clean keys and values of the first `end` positions, as far as they are not held yet. */
function* fill(
  sequence: Sequence,
  end: number,
  { runtime, rounded }: Rounded & Pick<Context, 'runtime'>,
): Generator<Run, void, readonly PassToken[]> {
  const { ids, cache } = sequence;
  const size = Math.max(LEAST_ROOM, rowsPerRun(runtime, { keys: end, passes: 1, scored: false }));
  while (cache.length < end) {
    const start = cache.length;
    const chunk = ids.slice(start, start + portion(start, end - start, size));
    // onnxruntime dies of a division by zero when no row is scored: one is, for nothing.
    yield { kind: 'forward', window: { cache, start, ids: chunk, targets: [0] }, rounded };
    if (sequence.clean === start) sequence.clean += chunk.length;
  }
}

/** Runs that are not batched with others. */
function* ownRuns<Result>(
  runs: Generator<() => Promise<void>, Result>,
): Generator<Run, Result, readonly PassToken[]> {
  let next = runs.next();
  while (!next.done) {
    try {
      yield { kind: 'own', execute: next.value };
    } catch (error) {
      next = runs.throw(error);
      continue;
    }
    next = runs.next();
  }
  return next.value;
}
