import { EMPTY } from 'rxjs';
import { expect, it } from 'vitest';
import { KeptAnswers } from '#gateway/models/kept-answers.js';
import { servedWithin } from '#gateway/models/limited-models.js';
import { Models } from '#gateway/models/models.js';
import type { PrepareOptions } from '#gateway/models/served-model.js';
import { chatSchema, parse } from '#gateway/requests/generation-request.js';
import { prepared } from '../../support/scripted-model.js';

it('counts the text that an answer begins with towards the limit on its tokens', async () => {
  const bounds: PrepareOptions['bounds'][] = [];
  const models = servedWithin(
    new Models([
      {
        name: 'm',
        status: () => ({ ready: true }),
        prepare: async (_, options) => {
          bounds.push(options.bounds);
          return prepared(() => EMPTY);
        },
      },
    ]),
    {
      limits: { prompt_characters: 1000, response_tokens: 100 },
      kept: new KeptAnswers(1 << 20),
      texts: null,
    },
  );
  const request = parse(chatSchema, { model: 'm', messages: [{ role: 'user', content: 'x' }] });
  await models.prepare(request, { asked: { canRetract: true } });
  await models.prepare(request, { asked: { canRetract: true, begun: 'Before. ', begunTokens: 90 } });
  await models.prepare(request, { asked: { canRetract: true, begun: 'Before. ', begunTokens: 100 } });
  expect(bounds.map((each) => each?.maxTokens)).toEqual([100, 10, 1]);
});
