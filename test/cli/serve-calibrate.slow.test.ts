import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { offerCalibrations, openRun } from '#cli/serve/serve-calibration.js';
import { IdleCalibrations, Metrics } from '#gateway/index.js';
import { DEFAULT_SCORING, Engine } from '#src/index.js';
import { FlowGate } from '#src/stream/flow-gate.js';
import { generate } from '#src/stream/generate.js';
import { flinch, useFolder } from '../support/cli.js';
import { chatBody } from '../support/gateway.js';
import { REASONER } from '../support/golden.js';
import { endless } from '../support/requests.js';
import { Serving } from '../support/serving.js';

const folder = useFolder();
const running: Serving[] = [];
afterEach(() => {
  for (const serving of running.splice(0)) serving.kill();
});

/** The embedded model without its calibration, which everyday prompts take for another one. */
const model = folder.path('reasoner');
const calibration = folder.path('reasoner/calibration.json');

async function serve(options: readonly string[] = ['--calibrate', '--methods', 'nll']): Promise<Serving> {
  const serving = await Serving.start(['--model', model, '--log-level', 'info', ...options]);
  running.push(serving);
  return serving;
}

/** Answers that are kept so far. */
const answers = (): number =>
  readdirSync(model)
    .filter((name) => name.endsWith('.answers'))
    .reduce((lines, name) => lines + folder.read(`reasoner/${name}`).split('\n').length - 1, 0);

const answer = z.object({ flinch: z.object({ guard: z.object({ calibrated: z.boolean() }) }) });

const about = z.object({
  data: z.tuple([z.object({ flinch: z.object({ calibration: z.unknown() }) })]),
});

async function isCalibrated(serving: Serving): Promise<boolean> {
  const body = chatBody({ max_tokens: 4, guard: { action: 'annotate' } });
  const { text } = await serving.send('POST', '/v1/chat/completions', body);
  return answer.parse(JSON.parse(text)).flinch.guard.calibrated;
}

beforeEach(() => {
  rmSync(model, { recursive: true, force: true });
  cpSync(REASONER, model, { recursive: true });
  rmSync(calibration);
});

it('an answer for a calibration gives way to any other', async () => {
  const engine = await Engine.open(model);
  const ending = new AbortController();
  const scoring = { ...DEFAULT_SCORING, methods: ['nll'] as const };
  const file = folder.path('elsewhere.json');
  const kept = (): string[] =>
    readdirSync(folder.path('.')).flatMap((name) =>
      name.endsWith('.answers') ? folder.read(name).split('\n').slice(0, -1) : [],
    );
  const gate = new FlowGate();
  const hold = (): (() => void) => {
    const release = gate.hold();
    const held = generate(engine, endless(engine), gate).subscribe();
    return () => {
      held.unsubscribe();
      release();
    };
  };
  const silent = pino({ level: 'silent' });
  const first = hold();
  await expect.poll(() => engine.status().streams).toBe(1);
  const open = async () => ({ scoring, run: await openRun(engine, scoring, file) });
  const calibrations = new IdleCalibrations();
  offerCalibrations([{ name: 'reasoner', engine, counts: { collected: 0, planned: 411 }, open }], {
    logger: silent,
    signal: ending.signal,
    calibrations,
    metrics: new Metrics(),
  });
  expect(calibrations.of('reasoner')).toEqual({ running: false, collected: 0, planned: 411 });
  calibrations.start('reasoner');
  await setTimeout(1000);
  expect(kept()).toEqual([]);
  first();
  let ended = 0;
  for (let round = 0; round < 8; round++) {
    const before = kept().length;
    await expect.poll(() => kept().length, { interval: 10 }).toBeGreaterThan(before);
    await setTimeout(60); // the next answer is under way
    const under = kept().length;
    const release = hold();
    await setTimeout(500);
    if (kept().length > under) ended += 1;
    release();
  }
  // Some ended before the other was noticed; all would have within half a second.
  expect(ended).toBeLessThan(6);
  expect(calibrations.of('reasoner')?.collected).toBeGreaterThan(0);
  ending.abort();
  await expect.poll(() => calibrations.of('reasoner')).toBeNull();
  await expect.poll(() => engine.status().streams).toBe(0);
  await engine.close();
});

it('flinch serve --calibrate calibrates while no request runs, and needs no restart', async () => {
  const first = await serve();
  expect(first.process.stdout()).toContain('reasoner is calibrated while no request runs');
  await expect.poll(answers).toBeGreaterThan(3);
  expect(await isCalibrated(first)).toBe(false);
  const { text } = await first.send('GET', '/metrics');
  expect(text).toMatch(/^flinch_calibration_answers\{model="reasoner",count="collected"\} [1-9]/m);
  expect(text).toContain('flinch_calibration_answers{model="reasoner",count="planned"} 411');
  first.kill();
  // The next start goes on with what there is.
  const kept = answers();
  const second = await serve();
  await expect.poll(() => existsSync(calibration)).toBe(true);
  expect(kept).toBeGreaterThan(0);
  await expect.poll(() => isCalibrated(second), { interval: 500 }).toBe(true);
  second.kill();
  // It is of the first answers, and the third start goes on.
  const third = await serve();
  expect(third.process.stdout()).toContain('reasoner is calibrated while no request runs');
  await expect.poll(answers).toBe(0);
  third.kill();
  expect((await serve()).process.stdout()).not.toContain('calibrated');
});

it('whoever is not at this machine cannot start a calibration', async () => {
  const asked = async (args: readonly string[]) => {
    const serving = await serve([...args, '--methods', 'nll']);
    const { text } = await serving.send('GET', '/v1/models');
    const { status } = await serving.send('POST', '/v1/models/reasoner/calibration', '');
    const unknown = await serving.send('POST', '/v1/models/org/other/calibration', '');
    serving.kill();
    return {
      offer: about.parse(JSON.parse(text)).data[0].flinch.calibration,
      status,
      unknown: unknown.status,
    };
  };
  const offer = { running: false, collected: 0, planned: 411 };
  expect(await asked([])).toEqual({ offer, status: 202, unknown: 404 });
  const open = ['--host', '0.0.0.0', '--allow-anonymous'];
  expect(await asked(open)).toEqual({ offer: null, status: 404, unknown: 404 });
});

it('flinch serve --calibrate replaces no calibration of another model', async () => {
  const text = readFileSync('models/reasoner/calibration.json', 'utf8');
  const others = text.replace(/"model":"\w{8}/, '"model":"00000000');
  folder.write('reasoner/calibration.json', others);
  const serving = await serve();
  const said = serving.process.stdout();
  expect(said).toContain('calibration.json is of another model');
  expect(said).not.toMatch(/--calibrate|while no request runs/);
  expect(folder.read('reasoner/calibration.json')).toBe(others);
});

it('flinch serve --calibrate says what it cannot do', async () => {
  const { code, stderr } = await flinch(['serve', '--calibrate', '--workers', '2', '--port', '0']);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('--calibrate: needs one worker, which sees all requests, not 2'),
  });
});
