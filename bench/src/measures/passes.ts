import { isDeepStrictEqual } from 'node:util';
import type { Method, Scoring } from 'flinch';
import { DEFAULT_ALPHA } from 'flinch/internals';
import { ALTERNATIVES } from '../baselines/ccp.js';
import type { Measure, PassNeeds } from './measure.js';

/** A scoring of the response that serves several measures. */
export interface SharedPass {
  readonly scoring: Scoring;
  readonly serves: readonly Measure[];
}

interface Open extends PassNeeds {
  readonly methods: Set<Method>;
  readonly serves: Measure[];
}

/**
 * The scorings that the measures need, as few as can be: each streaming schedule and step size is one of its own;
 * all else, probabilities, alternatives and the first of the noise, goes along with the pass over the whole response.
 */
export function sharedPasses(measures: readonly Measure[]): SharedPass[] {
  const passes: Open[] = [];
  const wanted = measures.flatMap((measure) => {
    const needs = needsOf(measure);
    return needs ? [{ measure, needs }] : [];
  });
  // Measures that attack the whole response come first: all others may join their pass.
  for (const { measure, needs } of wanted.toSorted((a, b) => order(a.needs) - order(b.needs))) {
    const at = passes.findIndex((pass) => fit(pass, needs));
    const pass = passes[at] ?? { methods: new Set<Method>(), serves: [] };
    const joined = { ...pass, ...needs, ...topOf(pass, needs) };
    if (measure.kind === 'engine') pass.methods.add(measure.method);
    pass.serves.push(measure);
    passes[at < 0 ? passes.length : at] = joined;
  }
  return passes.map(({ serves, ...pass }) => ({ serves, scoring: scoringOf(pass) }));
}

/** Passes that a measure needs; `null` if none. */
function needsOf(measure: Measure): PassNeeds | null {
  switch (measure.kind) {
    case 'engine':
      return measure.needs;
    case 'ccp':
      return { top: ALTERNATIVES };
    case 'top_entropy':
      return { top: measure.top };
    case 'token_sar':
      return {};
    default:
      return null;
  }
}

const isWhole = ({ adversary }: PassNeeds): boolean => !adversary || adversary.schedule.kind === 'offline';

const order = (needs: PassNeeds): number => (isWhole(needs) ? (needs.adversary ? 0 : 1) : 2);

/** Whether a pass can do what is needed beside what it does already. A streaming schedule is left to itself. */
function fit(pass: PassNeeds, needs: PassNeeds): boolean {
  if (!isWhole(needs) || !isWhole(pass)) {
    return isDeepStrictEqual(pass.adversary, needs.adversary);
  }
  const keys = ['adversary', 'random', 'tokur'] as const;
  return keys.every(
    (key) => pass[key] === undefined || needs[key] === undefined || isDeepStrictEqual(pass[key], needs[key]),
  );
}

function topOf(a: PassNeeds, b: PassNeeds): Pick<PassNeeds, 'top'> {
  const top = Math.max(a.top ?? 0, b.top ?? 0);
  return top > 0 ? { top } : {};
}

function scoringOf({ methods, adversary, ...rest }: Omit<Open, 'serves'>): Scoring {
  const { schedule = { kind: 'offline' } as const, alpha = DEFAULT_ALPHA } = adversary ?? {};
  // Alternatives alone need a pass too.
  const form = schedule.kind === 'offline' ? 'perturb' : 'derivative';
  return { methods: methods.size > 0 ? [...methods] : ['nll'], schedule, alpha, form, ...rest };
}
