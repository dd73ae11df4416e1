import { cp, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toApiError } from '#gateway/errors/api-error.js';
import { EngineModel, Models } from '#gateway/index.js';
import { Engine } from '#src/index.js';
import { answerOf } from '../../support/answers.js';
import { useFolder } from '../../support/cli.js';
import { checkpointFolder } from '../../support/golden.js';
import { ScriptedModel } from '../../support/scripted-model.js';

const folder = useFolder();
const engines: Engine[] = [];

/** tiny-llama with another chat template. */
async function modelsWith(name: string, template: string | null): Promise<Models> {
  const copy = folder.path(name);
  await cp(checkpointFolder('tiny-llama'), copy, { recursive: true });
  const file = `${copy}/tokenizer_config.json`;
  const config: object = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...config, chat_template: template ?? undefined }));
  const engine = await Engine.open(copy);
  engines.push(engine);
  return new Models([await EngineModel.open('m', engine)]);
}

const request = (role: 'user' | 'assistant') => ({
  model: 'm',
  messages: [{ role, content: 'x' }],
  guard: {},
});

describe('Models', () => {
  let picky: Models;
  beforeAll(async () => {
    const rule =
      "{% if messages[0]['role'] != 'user' %}{{ raise_exception('must begin with user') }}{% endif %}";
    picky = await modelsWith('picky', `${rule}{{ messages[0]['content'] }}`);
  });
  afterAll(async () => {
    for (const engine of engines) await engine.close();
  });

  it('are ready when one of them is', () => {
    expect(new Models([...picky.all, new ScriptedModel()]).ready).toBe(true);
    expect(picky.ready).toBe(false); // its engine was not started
    expect(new Models([]).ready).toBe(false);
  });

  it('prepares what the template takes', async () => {
    expect(await answerOf(picky.get('m'), request('user'))).toMatchObject({
      model: 'm',
      promptTokens: 1,
    });
  });

  it('says in the words of the template what it refuses', async () => {
    await expect(answerOf(picky.get('m'), request('assistant'))).rejects.toMatchObject({
      message: expect.stringContaining('must begin with user'),
      status: 400,
      body: { param: 'messages' },
    });
  });

  it('takes the fault on itself when the model has no template', async () => {
    const models = await modelsWith('bare', null);
    const error: unknown = await answerOf(models.get('m'), request('user')).catch(
      (reason: unknown) => reason,
    );
    const { status, body } = toApiError(error);
    expect({ status, ...body }).toMatchObject({
      status: 500,
      code: 'model_error',
      message: expect.stringMatching(/^tokenizer_config\.json: chat_template: is missing/),
    });
  });
});
