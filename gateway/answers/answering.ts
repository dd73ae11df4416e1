import { replacesAnswers } from '../../src/guard/guard.js';
import { ApiError } from '../errors/api-error.js';
import type { Policies } from '../policy/policies.js';
import type { AnswerRequest, Asked } from './asked.js';
import { checkBounds } from './bounds.js';
import { named, renamed } from './field-names.js';
import { type Governing, understood } from './governing.js';
import { guarded, guardInForce, withWarnings } from './guarding.js';
import { type Observe, Observers } from './observers.js';
import { type Replaced, replaced } from './replaced.js';
import type { Answer, ServedModel, Source } from './served-model.js';
import { inSlot } from './slots.js';

/** What answers are written with. */
export interface Answering extends Governing, Replaced {
  /** Those of new requests: a request has the policies that it began with to its end. */
  policies: Policies;
  readonly observe: readonly Observe[];
  /** Called with a fault of an observer. */
  readonly faulty: (error: unknown) => void;
}

/**
 * The answer to a request: the only way to a model.
 * @throws ApiError 404 for a model that is not served, 403 `policy_violation`, 400; SettingsError for settings of the
 *   guard that do not fit together, or not to the model
 */
export async function answer(request: AnswerRequest, answering: Answering): Promise<Answer> {
  const { names, fields } = request;
  const by = { ...answering }; // a reload changes nothing for an answer that has begun
  try {
    const model = by.models.get(fields.model);
    const asked = understood(request, model, by);
    const { action = 'annotate', enabled = true } = asked.fields.guard;
    if (!enabled || !replacesAnswers(action)) return named(names, await written(model, asked, by));
    const own = await replaced(asked, model.name, {
      ...by,
      written: (other) => written(model, other, by),
      escalate: async (to, other) => {
        const next = by.models.get(to);
        return written(next, annotated(understood(other, next, by, asked)), by);
      },
    });
    return named(names, own);
  } catch (error) {
    throw renamed(names, error);
  }
}

/** An answer in place of a flagged one is not replaced itself: its steps are only marked. */
const annotated = ({ fields, ...asked }: Asked): Asked => {
  const { guard } = fields;
  if (!replacesAnswers(guard.action ?? 'annotate')) return { ...asked, fields };
  return { ...asked, fields: { ...fields, guard: { ...guard, action: 'annotate' } } };
};

/** The answer that a model writes: bounds, source, guard, events, observers. */
async function written(model: ServedModel, asked: Asked, by: Answering): Promise<Answer> {
  const observers = new Observers(by.observe, { asked, model }, by.faulty);
  try {
    checkBounds(asked, by.limits.prompt_characters);
    const source = await sourceOf(model, { ...asked, ...(observers.trace && { trace: observers.trace }) });
    const guard = await guardInForce(asked, source);
    const prepared = await source.prepare(guard.guarding);
    const { vocabulary, promptTokens, form = 'tokens', warnings } = prepared;
    const settings = { ...withWarnings(guard.settings, warnings), policy: asked.policy?.name ?? null };
    const about = {
      model: model.name,
      vocabulary,
      promptTokens,
      form,
      guard: settings,
      set: asked.fields.guard,
    };
    const options = { asked, source, prepared, written: observers.written };
    return {
      ...about,
      start: (gate) =>
        inSlot(model.slots, asked.client, () => guarded(guard, options, gate)).pipe(observers.follow(about)),
    };
  } catch (error) {
    observers.refused(error);
    throw error;
  }
}

function sourceOf(model: ServedModel, asked: Asked): Promise<Source> {
  const { given } = asked;
  if (!given) return model.source(asked);
  if (model.given) return model.given(given, asked);
  const problem = `model: ${model.name} has no scorer, so it scores no text that is given`;
  throw new ApiError('invalid_value', problem, 'model');
}
