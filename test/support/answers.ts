import { type Answering, answer } from '#gateway/answers/answering.js';
import type { AnswerRequest, Asked } from '#gateway/answers/asked.js';
import { KeptAnswers } from '#gateway/answers/kept-answers.js';
import { PerClient } from '#gateway/answers/per-client.js';
import type { Answer } from '#gateway/answers/served-model.js';
import { configSchema } from '#gateway/config/gateway-config.js';
import { Models, type ServedModel } from '#gateway/index.js';
import { Policies } from '#gateway/policy/policies.js';
import type { GenerationFields } from '#gateway/requests/generation-request.js';
import { Budget } from '#src/risk/budget.js';

/** A request of a client that can take tokens back. */
export const answerRequest = (
  fields: GenerationFields,
  changes: Partial<AnswerRequest> = {},
): AnswerRequest => ({
  fields,
  canRetract: true,
  principal: 'anonymous',
  client: '',
  responseId: 'resp-7',
  ...changes,
});

/** The same without policies. */
export const askedOf = (fields: GenerationFields, changes: Partial<Asked> = {}): Asked => ({
  ...answerRequest(fields),
  policy: null,
  refusesUnscored: false,
  ...changes,
});

/** What answers of these models are written with, without policies and observers. */
export const answeringOf = (models: Iterable<ServedModel>, changes: Partial<Answering> = {}): Answering => ({
  models: new Models(models),
  policies: new Policies(configSchema.parse({})),
  limits: configSchema.parse({}).limits,
  severalKeys: false,
  count: () => {},
  kept: new KeptAnswers(),
  budgets: new PerClient(() => new Budget()),
  observe: [],
  faulty: (error) => {
    throw error;
  },
  escalated: () => {},
  voted: () => {},
  ...changes,
});

/** The answer of a model to a request of its own name. */
export const answerOf = (
  model: ServedModel,
  fields: GenerationFields,
  changes: Partial<AnswerRequest> = {},
): Promise<Answer> => answer(answerRequest({ ...fields, model: model.name }, changes), answeringOf([model]));
