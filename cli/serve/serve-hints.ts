import { concat, concatMap, defer, from, type Observable, of } from 'rxjs';
import type { Workers } from '../../gateway/workers/start-workers.js';
import { MEASURED_TEXTS, measureScoring } from '../../src/cost/scoring-speed.js';
import { measureWriting } from '../../src/cost/writing-speed.js';
import type { Engine } from '../../src/engine/engine.js';
import { guardSchema } from '../../src/guard/guard-fields.js';
import { calibrationOf } from '../../src/risk/calibration-file.js';
import { DEFAULT_METHODS, PROBABILITY_METHODS } from '../../src/uncertainty/method-names.js';
import { DEFAULT_BLOCK, DEFAULT_WINDOW } from '../../src/uncertainty/settings.js';
import { priceOf, rounded } from '../terminal-format.js';
import { uncalibrated } from '../uncalibrated.js';
import type { ServeConfig } from './serve-config.js';

/**
 * A line for each model whose flags use a running estimate.
 * @param calibrating names of those that are calibrated while idle
 */
export async function calibrationHints(
  { models, workers }: ServeConfig,
  engines: Workers['engines'],
  calibrating: readonly string[],
): Promise<string[]> {
  const all = [...engines].map(async ([name, { checkpoint }]) => {
    if (calibrating.includes(name)) return [`${name} is calibrated while no request runs`];
    const isOurs = 'checkpoint' in models[name]! && workers === 1;
    const canServe = isOurs && (await calibrationOf(checkpoint)) === null;
    const advice = canServe ? 'Serve with --calibrate, or calibrate it' : undefined;
    const hint = await uncalibrated(checkpoint, advice);
    return hint === null ? [] : [`${name} is ${hint}`];
  });
  return (await Promise.all(all)).flat();
}

/** A line about the models that cannot have Adv. Pert.; none where all can. */
export function scorerHints({ models }: ServeConfig): string[] {
  const names = Object.entries(models).flatMap(([name, model]) =>
    'upstreams' in model && model.scorer === undefined ? [name] : [],
  );
  if (names.length === 0) return [];
  const named = new Intl.ListFormat('en').format(names);
  const have = names.length === 1 ? 'has' : 'have';
  return [`${named} ${have} no Adv. Pert.: it takes a scorer (--scorer, or scorer in the configuration)`];
}

/** What the guard does by default, for each model. */
export const guardWords = (config: ServeConfig): string[] =>
  Object.keys(config.models).map((name) => {
    const { enabled, action, rate, per } = guardOfModel(config, name);
    if (!enabled) return 'off, unless a request asks for it';
    const percent = Number((100 * rate).toPrecision(3));
    return `${action}; ${percent} % of ordinary ${per}s are flagged`;
  });

/** Defaults of a model's guard. */
export function guardOfModel({ guard, models }: ServeConfig, name: string) {
  return guardSchema.parse({ ...guard?.defaults, ...models[name]?.guard?.defaults });
}

/**
 * A line for each model with Adv. Pert. by default, one after the other as they are measured: how fast it writes, or how fast
 * it scores what other servers write.
 *
 * Errors with an EngineError, such as of an engine that is closed.
 */
export function priceHints(config: ServeConfig, engines: Workers['engines']): Observable<string> {
  const scored = Object.entries(config.models).flatMap(([name, model]) => {
    const engine = engines.get(name);
    const { enabled, methods = DEFAULT_METHODS } = guardOfModel(config, name);
    if (!engine || !enabled || !methods.includes('adversarial')) return [];
    const price = async () =>
      'checkpoint' in model
        ? `${name} writes ${priceOf(await measureWriting(engine))}`
        : `${name} scores ${await scoringPrice(engine, model.max_streams)}`;
    return [price];
  });
  const without = PROBABILITY_METHODS.join(',');
  return from(scored).pipe(
    concatMap((price) =>
      concat(of(`measuring Adv. Pert.; --methods ${without} leaves it out`), defer(price)),
    ),
  );
}

/** The first tokens of a scorer may take this long: if they take longer, its speed is not measured. */
const PATIENCE_MS = 5000;

async function scoringPrice(engine: Engine, most: number): Promise<string> {
  const texts = engine.status().score.device === 'cpu' ? 1 : Math.min(most, MEASURED_TEXTS);
  const few = { before: DEFAULT_WINDOW, tokens: DEFAULT_BLOCK };
  const ms = await measureScoring(engine, { texts, ...few, patience: PATIENCE_MS });
  if (ms === null) return `slowly: the first tokens took more than ${PATIENCE_MS / 1000} s`;
  const speed = `about ${rounded((1000 * texts * few.tokens) / ms)} tokens/s`;
  return texts > 1 ? `${speed} of ${texts} texts at once` : speed;
}
