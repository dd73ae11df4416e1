import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { ScoreWorker, type ScoreWorkerOptions } from '#src/engine/child/score-worker.js';
import { runtimeOf } from '#src/engine/child/sequence-run.js';
import { Engine } from '#src/engine/engine.js';
import type { FromScore, PassToken, ToScore } from '#src/engine/engine-messages.js';
import { openServers } from '#src/engine/server/open-servers.js';
import { type RecordedScores, readRecordedScores } from '#src/engine/server/score-servers.js';
import { STATELESS_GRAPHS } from '#src/engine/server/served-graphs.js';
import { writeTritonRepository } from '#src/engine/server/write-repository.js';
import { scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import {
  CHECKPOINTS,
  type CheckpointName,
  checkpointFolder,
  goldenCases,
  scoreErrors,
} from '../../support/golden.js';
import { type Answer, InferenceServerDouble, type RunAnswer } from '../../support/inference-server-double.js';
import type { WireTensor } from '../../support/repository-models.js';

let folder: string;
const checkpoints = new Map<CheckpointName, Checkpoint>();
const doubles = new Map<CheckpointName, InferenceServerDouble>();
const urls = new Map<CheckpointName, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flinch-servers-'));
  for (const name of CHECKPOINTS) {
    await cp(checkpointFolder(name), join(folder, name), { recursive: true });
    const checkpoint = await openCheckpoint(join(folder, name));
    const output = join(folder, `${name}-repository`);
    const { weights } = await writeTritonRepository(checkpoint, { output, name, threads: 1 });
    expect(weights).toBe('linked');
    const double = new InferenceServerDouble(output);
    checkpoints.set(name, checkpoint);
    doubles.set(name, double);
    urls.set(name, await double.listen());
  }
});
afterAll(async () => {
  for (const double of doubles.values()) await double.close();
  await rm(folder, { recursive: true });
});

const llama = () => doubles.get('tiny-llama')!;
const urlOf = (name: CheckpointName) => urls.get(name)!;
interface Opening {
  readonly urls?: readonly string[];
  readonly model?: string;
  readonly recorded?: RecordedScores;
  readonly requestMs?: number;
  /** Whether the server holds keys and values. */
  readonly held?: boolean;
  readonly threads?: number;
}

async function openRemote(name: CheckpointName, { held = false, threads = 1, ...opening }: Opening = {}) {
  const source = checkpoints.get(name)!;
  const recorded = await readRecordedScores(source);
  const lost: string[] = [];
  const servers = { urls: [urlOf(name)], model: name, recorded, requestMs: 30_000, ...opening };
  const sequence = `${name}_sequence`;
  if (!held) doubles.get(name)!.hidden.add(sequence);
  try {
    const runtime = runtimeOf({ source, threads });
    const opened = await openServers({ source, runtime }, servers, (reason) => lost.push(reason));
    expect(opened.held !== undefined).toBe(held);
    return { ...opened, source, threads, lost };
  } finally {
    doubles.get(name)!.hidden.delete(sequence);
  }
}

/** A worker, asked one thing at a time. */
function ask(options: Omit<ScoreWorkerOptions, 'send' | 'contextLength'>) {
  let answered: (answer: FromScore) => void = () => {};
  const worker = new ScoreWorker({ ...options, contextLength: 512, send: (message) => answered(message) });
  return (message: Extract<ToScore, { type: 'pass' | 'read' | 'fork' }>): Promise<FromScore> =>
    new Promise((resolve) => {
      answered = resolve;
      if (message.type === 'pass') worker.pass(message);
      else if (message.type === 'read') worker.read(message);
      else worker.fork(message);
    });
}

const ids = (count: number, step = 37) => Array.from({ length: count }, (_, i) => (i * step + 5) % 500);
const adversary = { alpha: 1e-3, form: 'derivative' } as const;

/** A prompt, passes, a rollback as a fork with other tokens, and a plain pass. */
const MESSAGES = [
  { type: 'read', stream: 1, newIds: ids(40), end: 32 },
  { type: 'pass', stream: 1, newIds: ids(8, 11), start: 32, from: 40, to: 48, adversary },
  { type: 'pass', stream: 1, newIds: ids(8, 13), start: 40, from: 48, to: 56, adversary },
  { type: 'fork', stream: 2, of: 1, length: 48 },
  { type: 'pass', stream: 2, newIds: ids(8, 17), start: 34, from: 48, to: 56, adversary },
  { type: 'pass', stream: 1, newIds: ids(2, 3), start: 55, from: 56, to: 58, adversary: null },
  { type: 'pass', stream: 3, newIds: ids(9), start: 0, from: 1, to: 9, adversary },
] as const satisfies ToScore[];

const numbersOf = ({ probability, adversary }: PassToken): number[] => [
  ...[probability!.logprob, probability!.entropy, probability!.margin],
  ...probability!.top.map(({ logprob }) => logprob),
  ...(adversary ? [adversary.fall, adversary.rival.before, adversary.rival.after] : []),
];

async function compareScores(remote: ReturnType<typeof ask>, local: ReturnType<typeof ask>): Promise<number> {
  let compared = 0;
  for (const message of MESSAGES) {
    const [actual, expected] = [await remote(message), await local(message)];
    expect(actual).toMatchObject({ type: expected.type });
    if (actual.type !== 'scored' || expected.type !== 'scored') continue;
    expect(actual.positions).toBe(expected.positions);
    expect(actual.tokens).toHaveLength(expected.tokens.length);
    for (const [i, token] of expected.tokens.entries()) {
      const [a, b] = [numbersOf(actual.tokens[i]!), numbersOf(token)];
      for (const [k, value] of b.entries()) expect(Math.abs(a[k]! - value)).toBeLessThan(5e-5);
      expect(actual.tokens[i]!.adversary?.rival.id).toBe(token.adversary?.rival.id);
      compared += b.length;
    }
  }
  return compared;
}

const localOf = (name: CheckpointName) => {
  const source = checkpoints.get(name)!;
  return ask({ sessions: new Sessions(source, { threads: 1 }), source, threads: 1 });
};

describe('on an inference server', () => {
  const all = CHECKPOINTS.flatMap((name) => [
    { name, held: false, threads: 1 } as const,
    { name, held: true, threads: 1 } as const,
  ]);
  it.each([
    ...all,
    // With so few threads a prompt is read in several runs.
    { name: 'tiny-mistral', held: true, threads: 1e-5 } as const,
  ])('scores are those of the engine: %o', async ({ name, held, threads }) => {
    const remote = await openRemote(name, { held, threads });
    expect(await compareScores(ask(remote), localOf(name))).toBeGreaterThan(300);
  });
});

describe('a sequence that a server holds', () => {
  const [first, second] = [MESSAGES[1], MESSAGES[2]];
  const bytesOf = (runs: readonly { readonly bytes: number }[]) =>
    runs.reduce((sum, { bytes }) => sum + bytes, 0);

  it('is sent what is new, not keys and values', async () => {
    const { runs } = llama();
    const bytes: number[] = [];
    for (const held of [true, false]) {
      const remote = ask(await openRemote('tiny-llama', { held }));
      runs.length = 0;
      for (const message of MESSAGES.slice(0, 3)) await remote(message);
      bytes.push(bytesOf(runs));
    }
    expect(bytes[0]).toBeLessThan(bytes[1]! / 3);
  });

  it('is read again from its beginning after it was lost', async () => {
    const [remote, local] = [ask(await openRemote('tiny-llama', { held: true })), localOf('tiny-llama')];
    for (const message of [MESSAGES[0], first]) {
      await remote(message);
      await local(message);
    }
    llama().models.forgetSequences();
    llama().runs.length = 0;
    const [actual, expected] = [await remote(second), await local(second)];
    if (actual.type !== 'scored' || expected.type !== 'scored') throw new Error(JSON.stringify(actual));
    for (const [i, { probability, adversary }] of expected.tokens.entries()) {
      expect(actual.tokens[i]!.probability!.logprob).toBeCloseTo(probability!.logprob, 4);
      expect(actual.tokens[i]!.adversary!.fall).toBeCloseTo(adversary!.fall, 4);
    }
    // Refused once; then the prefix, and the pass.
    expect(llama().runs.map(({ model }) => model)).toEqual(Array(3).fill('tiny-llama_sequence'));
  });

  it('is lost a second time: the pass fails', async () => {
    const remote = ask(await openRemote('tiny-llama', { held: true }));
    await remote(MESSAGES[0]);
    const refused = answer(400, { error: 'must specify the START flag' }, '');
    llama().instead.push(refused, refused);
    expect(await remote(first)).toEqual({
      type: 'failed',
      stream: 1,
      message: 'ServerFault: v2/models/tiny-llama_sequence/infer: status 400',
    });
    expect((await remote({ ...first, newIds: [] })).type).toBe('scored');
  });

  it('is not believed where another number of positions is held', async () => {
    const remote = ask(await openRemote('tiny-llama', { held: true }));
    await remote(MESSAGES[0]);
    let changes = 0;
    llama().change = (answer) => {
      changes += 1;
      if (changes === 1) answer.outputs.find(({ name }) => name === 'held')!.bytes.writeBigInt64LE(7n);
      return answer;
    };
    expect((await remote(first)).type).toBe('scored');
    expect(changes).toBe(2);
    llama().change = (answer) => answer;
  });

  it('stays at one address, and goes to the other when that is gone', async () => {
    const other = new InferenceServerDouble(join(folder, 'tiny-llama-repository'));
    const addresses = [urlOf('tiny-llama'), await other.listen()];
    llama().models.forgetSequences();
    const remote = ask(await openRemote('tiny-llama', { held: true, urls: addresses }));
    // Those of the check at the start have ended.
    await expect.poll(() => [llama().models.sequences, other.models.sequences]).toEqual([0, 0]);
    llama().runs.length = 0;
    other.runs.length = 0;
    for (const message of [MESSAGES[0], first]) expect((await remote(message)).type).not.toBe('failed');
    expect([llama().runs.length, other.runs.length]).toEqual([2, 0]);
    llama().instead.push(reset);
    expect((await remote(second)).type).toBe('scored');
    expect(other.runs.length).toBe(2);
    await other.close();
  });

  it('is ended when it is released, and forgotten when nobody asks', async () => {
    const { models } = llama();
    models.forgetSequences();
    const { sessions, held, source } = await openRemote('tiny-llama', { held: true });
    await expect.poll(() => models.sequences).toBe(0); // of the check at the start
    const worker = new ScoreWorker({
      sessions,
      held,
      source,
      threads: 1,
      contextLength: 512,
      send: () => worker.release(1),
    });
    worker.read(MESSAGES[0]);
    await expect.poll(() => llama().runs.length > 1 && models.sequences).toBe(0);
    models.idleMs = 1;
    const remote = ask(await openRemote('tiny-llama', { held: true }));
    await remote(MESSAGES[0]);
    await expect.poll(() => models.sequences).toBe(0);
    models.idleMs = undefined;
    expect((await remote(first)).type).toBe('scored');
  });

  it('needs none of the other models', async () => {
    for (const graph of STATELESS_GRAPHS) llama().hidden.add(`tiny-llama_${graph}`);
    const remote = ask(await openRemote('tiny-llama', { held: true }));
    expect((await remote(MESSAGES.at(-1)!)).type).toBe('scored');
    llama().hidden.clear();
  });

  // With next to no threads no window fits into one run.
  it.each([true, false])('is refused where its window is too long for one run: held %s', async (held) => {
    const small = ask(await openRemote('tiny-llama', { held, threads: 1e-9 }));
    expect(await small(MESSAGES.at(-1)!)).toMatchObject({
      type: 'failed',
      message: 'Error: the window is too long for one run of an inference server',
    });
  });
});

describe('an engine that scores on inference servers', () => {
  it('agrees with float64 PyTorch', async () => {
    const scoreServers = { urls: [urlOf('tiny-llama')], model: 'tiny-llama' };
    const engine = await Engine.open(join(folder, 'tiny-llama'), { scoreServers });
    try {
      const [golden] = goldenCases('tiny-llama');
      const { promptIds, responseIds, alpha, jvp, logprob } = golden!;
      const methods = ['adversarial', 'nll'] as const;
      const scoring = { methods, alpha, form: 'derivative', schedule: { kind: 'offline' } } as const;
      const { tokens } = await scoreResponse(engine, promptIds, responseIds, scoring);
      const { all } = scoreErrors(
        tokens.map(({ scores }) => scores.adversarial!),
        jvp.map((value) => alpha * value),
      );
      expect(all).toBeLessThan(2e-3);
      expect(
        scoreErrors(
          tokens.map(({ logprob }) => logprob),
          logprob,
        ).all,
      ).toBeLessThan(1e-4);
      expect(engine.status().score.device).toBe('inference-server');
    } finally {
      await engine.close();
    }
  });

  it('refuses a checkpoint that was not exported', async () => {
    const scoreServers = { urls: ['http://127.0.0.1:1'], model: 'm' };
    await expect(Engine.open(checkpointFolder('tiny-llama'), { scoreServers })).rejects.toThrow(
      'server-scores.json: is missing; `flinch export triton` writes it',
    );
  });
});

const oneFloat = { name: 'logprob', shape: [1], datatype: 'FP32' };
const reset: Answer = (_, response) => response.destroy();
const answer =
  (status: number, header: unknown, body: string, headers: Record<string, string | number> = {}): Answer =>
  (_, response) => {
    const json = JSON.stringify(header);
    response.writeHead(status, { 'inference-header-content-length': json.length, ...headers });
    response.end(json + body);
  };

describe('an answer that is not as it should be', () => {
  const pass = MESSAGES.at(-1)!;
  let remote: ReturnType<typeof ask>;
  beforeAll(async () => {
    remote = ask(await openRemote('tiny-llama'));
  });
  let stream = 100;
  const scored = () => remote({ ...pass, stream: ++stream });
  // Two faults are not enough to do without the server.
  afterEach(async () => {
    llama().change = (answer) => answer;
    expect((await scored()).type).toBe('scored');
  });

  const changed =
    (name: string, change: (output: WireTensor, answer: RunAnswer) => void) => (answer: RunAnswer) => {
      change(answer.outputs.find((output) => output.name === name)!, answer);
      return answer;
    };
  const HOSTILE: Readonly<Record<string, [(answer: RunAnswer) => RunAnswer, string]>> = {
    'numbers that are not finite': [
      changed('logprob', ({ bytes }) => bytes.writeFloatLE(Number.NaN, 4)),
      'logprob has numbers that are not finite',
    ],
    'keys that are not finite': [
      changed('window_key.0.1', ({ bytes }) => bytes.writeFloatLE(Number.POSITIVE_INFINITY, 0)),
      'window_key.0.1 has numbers that are not finite',
    ],
    'another shape of the same size': [
      changed('top_ids', ({ shape }) => shape.reverse()),
      'top_ids has shape [5,8] instead of [8,5]',
    ],
    'fewer tokens': [
      changed('entropy', (output) => Object.assign(output, { shape: [7], bytes: output.bytes.subarray(4) })),
      'entropy has shape [7] instead of [8]',
    ],
    'another type': [
      changed('margin', (output) => Object.assign(output, { datatype: 'INT64' })),
      'margin is of type INT64',
    ],
    'an id outside the vocabulary': [
      changed('rival', ({ bytes }) => bytes.writeBigInt64LE(1_000_000n, 0)),
      'rival has an id outside the vocabulary',
    ],
    'a tensor that is missing': [
      changed('logprob', (output, answer) => answer.outputs.splice(answer.outputs.indexOf(output), 1)),
      'logprob is missing',
    ],
    'a tensor that is short': [
      changed('logprob', (output) => Object.assign(output, { bytes: output.bytes.subarray(4) })),
      'logprob has 28 bytes',
    ],
    'a tensor that is there twice': [
      changed('logprob', (output, answer) => answer.outputs.push(output)),
      'logprob is there twice',
    ],
    'another model': [
      (answer) => ({ ...answer, model: 'other' }),
      'the answer is of another model than tiny-llama_score',
    ],
  };
  it.each(Object.entries(HOSTILE))('fails the pass: %s', async (_name, [change, problem]) => {
    llama().change = change;
    expect(await scored()).toEqual({ type: 'failed', stream, message: `ServerFault: ${problem}` });
  });
});

describe('a server that is not as it should be', () => {
  const pass = MESSAGES.at(-1)!;
  let remote: ReturnType<typeof ask>;
  beforeAll(async () => {
    remote = ask(await openRemote('tiny-llama', { requestMs: 1500 }));
  });
  let stream = 100;
  const scored = () => remote({ ...pass, stream: ++stream });
  const failed = (problem: string) => ({ type: 'failed', stream, message: `ServerFault: ${problem}` });
  afterEach(async () => {
    llama().ready = true;
    expect((await scored()).type).toBe('scored');
  });

  it('is asked once more after a fault', async () => {
    llama().instead.push(reset);
    expect((await scored()).type).toBe('scored');
  });

  const ODD: Readonly<Record<string, [Answer, string]>> = {
    'a connection that breaks': [reset, 'the connection failed (ECONNRESET)'],
    'a status': [answer(500, { error: 'secret' }, ''), 'v2/models/tiny-llama_score/infer: status 500'],
    'JSON without tensors': [
      (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"outputs":[]}'),
      'the answer has no tensors in binary form',
    ],
    'a short body': [
      answer(200, { outputs: [{ ...oneFloat, parameters: { binary_data_size: 4 } }] }, ''),
      'the answer is too short',
    ],
    'a long body': [answer(200, { outputs: [] }, 'abc'), 'the answer has 3 bytes too many'],
    'no JSON': [
      answer(200, {}, '', { 'inference-header-content-length': 1 }),
      'the answer is not a message of the protocol',
    ],
    'a header beyond the body': [
      answer(200, {}, '', { 'inference-header-content-length': 99 }),
      'the answer has no tensors in binary form',
    ],
    'a body that is cut off': [
      (_, response) => {
        response.writeHead(200, { 'content-length': 1000 }).write('{', () => response.destroy());
      },
      'the connection failed (ECONNRESET)',
    ],
    'no answer': [() => {}, 'no answer within 1.5 s'],
  };
  it.each(Object.entries(ODD))('fails the pass: %s', async (_name, [instead, problem]) => {
    llama().instead.push(instead, instead);
    expect(await scored()).toEqual(failed(problem));
  });

  it.each<[string, () => Promise<Opening>, string]>([
    ['is not there', async () => ({ urls: ['http://127.0.0.1:1'] }), 'the connection failed (ECONNREFUSED)'],
    ['has no such model', async () => ({ model: 'other' }), 'v2/models/other_score/ready: status 400'],
    [
      'has a model of another architecture',
      async () => ({ urls: [urlOf('tiny-mistral')], model: 'tiny-mistral' }),
      'tiny-mistral_sequence is another model: inputs:',
    ],
    [
      'has other weights',
      async () => {
        const recorded = await readRecordedScores(checkpoints.get('tiny-llama')!);
        const scores = recorded.scores.map((score, i) =>
          i === 20 ? { ...score, entropy: score.entropy + 0.01 } : score,
        );
        return { recorded: { ...recorded, scores } };
      },
      'its scores are not those of the export: entropy',
    ],
    [
      'is not ready',
      async () => {
        llama().ready = false;
        return {};
      },
      'v2/models/tiny-llama_score/ready: status 503',
    ],
  ])('is refused at the start if it %s', async (_name, opening, problem) => {
    await expect(openRemote('tiny-llama', await opening())).rejects.toThrow(
      `inference server 1 of 1: ${problem}`,
    );
  });

  it('is replaced by another address', async () => {
    const opened = await openRemote('tiny-llama', { urls: ['http://127.0.0.1:1', urlOf('tiny-llama')] });
    expect(opened.lost).toEqual(['inference server 1 of 2: the connection failed (ECONNREFUSED)']);
    expect((await ask(opened)(pass)).type).toBe('scored');
  });
});
