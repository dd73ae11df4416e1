import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startScript, useFolder } from '../support/cli.js';
import { useGateway } from '../support/gateway.js';
import { COMPILED, compile, installPackages, linkPackage } from '../support/installed-packages.js';

const gateway = useGateway();

/** A project that has packages of this repository, by their folders, and what its author installs beside them. */
interface Project {
  readonly sources: readonly string[];
  readonly beside?: readonly string[];
  readonly program: string;
  readonly prints: string;
  /** Where a compiler of two years ago finds errors that are none of ours. */
  readonly foreign?: string;
  /** Of the compiler. */
  readonly options?: Readonly<Record<string, unknown>>;
}

const QUESTION = "{ role: 'user', content: 'What is 12 + 30 - 5?' }";

/** The package `openai` names these in its own types. */
const OPENAI = `import OpenAI from 'openai';
  import 'flinch-client/openai';

  const client = new OpenAI({ baseURL: \`\${process.argv[2]}/v1\`, apiKey: 'none' });
  const asked = { model: 'reasoner', messages: [${QUESTION}], guard: { rate: 0.1 } } satisfies OpenAI.ChatCompletionCreateParams;
  const stream = await client.chat.completions.create({ ...asked, stream: true });
  let scored = 0;
  let flagged: boolean | null | undefined;
  for await (const { flinch } of stream) {
    for (const { risk } of flinch?.tokens ?? []) scored += Number(risk !== undefined);
    // @ts-expect-error: no event has this type
    for (const event of flinch?.events ?? []) if (event.type === 'none') console.log(event);
    flagged = flinch?.verdict?.flagged ?? flagged;
  }
  // @ts-expect-error: no action has this name
  const none: OpenAI.ChatCompletionCreateParams = { ...asked, guard: { action: 'none' } };
  const { flinch } = await client.chat.completions.create(asked);
  const responses: OpenAI.Responses.ResponseCreateParams = { model: 'reasoner', input: 'Hello.', guard: none.guard ?? {} };
  const rate: number | undefined = flinch?.guard.rate;
  // @ts-expect-error: a number
  const text: string | undefined = flinch?.verdict?.steps;
  console.log(scored > 5, typeof flagged, rate, typeof text, responses.model);
`;

const PROJECTS: Readonly<Record<string, Project>> = {
  flinch: {
    sources: ['client', '.'],
    program: `import { DEFAULT_SCORING, Engine, encodePrompt, reasonerPath, scoredGeneration } from 'flinch';

      const engine = await Engine.open(reasonerPath);
      const promptIds = encodePrompt(engine.checkpoint, [${QUESTION}]);
      let text = '';
      await scoredGeneration(engine, { promptIds, sampling: { temperature: 0 } }, DEFAULT_SCORING).forEach((event) => {
        if (event.type === 'token.delta') text += event.text;
        // @ts-expect-error: no event has this type
        if (event.type === 'none') console.log(event);
      });
      await engine.close();
      console.log(text.includes('37'));
    `,
    prints: 'true\n',
  },
  'flinch/gateway': {
    sources: ['client', '.'],
    beside: ['@types/node', 'undici-types'],
    program: `import { createServer } from 'node:http';
      import { createGateway, Models, startGateway } from 'flinch/gateway';
      import * as client from 'flinch/client';
      import * as engineServer from 'flinch/engine-server';
      import * as internals from 'flinch/internals';
      import * as state from 'flinch/state';

      const config = { access: { allow_anonymous: true } };
      const mounted = createGateway({ models: new Models([]), config });
      mounted.attach(createServer(mounted.app));
      await mounted.close();
      const alone = await startGateway({ models: new Models([]), config: { ...config, listen: { port: 0 } } });
      console.log((await fetch(\`\${alone.url}/livez\`)).status);
      await alone.close();
      // @ts-expect-error: no such field
      const wrong: Parameters<typeof startGateway>[0] = { models: new Models([]), config: { listens: {} } };
      console.log([wrong, client, engineServer, internals, state].every((each) => Object.keys(each).length > 1));
    `,
    prints: '200\ntrue\n',
  },
  'flinch-client/openai': {
    sources: ['client'],
    beside: ['openai'],
    program: OPENAI,
    prints: 'true boolean 0.1 number reasoner\n',
  },
  'flinch-langchain': {
    sources: ['client', 'client/langchain'],
    beside: ['@langchain/core', '@langchain/openai'],
    program: `import { ChatFlinch, flinchOf } from 'flinch-langchain';

      const model = new ChatFlinch({ url: process.argv[2] ?? '', model: 'reasoner', temperature: 0, guard: { rate: 0.1 } });
      const message = await model.invoke('What is 12 + 30 - 5?');
      const rate = flinchOf(message)?.guard?.rate;
      // @ts-expect-error: no action has this name
      new ChatFlinch({ model: 'reasoner', guard: { action: 'none' } });
      console.log(message.text.includes('37'), rate);
    `,
    prints: 'true 0.1\n',
    // LangChain's own types need the newest library, and a newer compiler than 5.6.
    options: { lib: ['esnext', 'dom'] },
    foreign: 'node_modules/@langchain/',
  },
  'flinch-ai-sdk': {
    sources: ['client', 'client/ai-sdk'],
    program: `import { flinchMetadata, flinchMiddleware } from 'flinch-ai-sdk';

      const flagged: boolean | null | undefined = flinchMetadata({})?.verdict.flagged;
      // @ts-expect-error: no action has this name
      flinchMiddleware({ guard: { action: 'none' } });
      console.log(flinchMiddleware().specificationVersion, flagged);
    `,
    prints: 'v3 undefined\n',
  },
  'flinch-react': {
    sources: ['client', 'client/ai-sdk', 'client/react'],
    beside: ['react', 'react-dom', '@types/react', '@types/react-dom'],
    program: `import { FlaggedText } from 'flinch-react';
      import { createElement } from 'react';
      import { renderToStaticMarkup } from 'react-dom/server';

      // @ts-expect-error: a text
      createElement(FlaggedText, { text: 1, steps: [], verdict: null });
      const shown = createElement(FlaggedText, { text: 'One', steps: [], verdict: null });
      console.log(renderToStaticMarkup(shown).includes('One'));
    `,
    prints: 'true\n',
  },
  'flinch-triton': {
    sources: ['client', '.', 'triton'],
    beside: ['@types/node', 'undici-types'],
    program: `import { openServers, writeTritonRepository } from 'flinch-triton';

      // @ts-expect-error: takes a checkpoint
      const write: () => void = writeTritonRepository;
      console.log(typeof openServers, typeof write);
    `,
    prints: 'function function\n',
  },
  'flinch-redis': {
    sources: ['client', '.', 'redis'],
    beside: ['@types/node', 'undici-types'],
    program: `import { createGateway, Models } from 'flinch/gateway';
      import { openState } from 'flinch-redis';

      const state = { url: 'redis://127.0.0.1:1' };
      const config = { access: { allow_anonymous: true }, state };
      const gateway = createGateway({ models: new Models([]), openState, config });
      console.log(typeof gateway.app);
      await gateway.close();
    `,
    prints: 'function\n',
  },
  'flinch-bench': {
    sources: ['client', '.', 'bench'],
    beside: ['@types/node', 'undici-types'],
    program: `import { benchCommand, dataCommand } from 'flinch-bench';

      const name: string = dataCommand().name();
      console.log((await benchCommand()).name(), name);
    `,
    prints: 'bench data\n',
  },
};

describe.each(Object.entries(PROJECTS))('a project with %s', (_name, project) => {
  const { sources, beside = [], program, prints, foreign, options } = project;
  const folder = useFolder().path('');
  beforeAll(() => {
    installPackages(folder, sources);
    for (const name of beside) linkPackage(folder, name);
  });

  it('compiles without skipLibCheck, with compilers of two years, and runs', async () => {
    const errors = compile(folder, program, options).map(({ stdout }) =>
      stdout.split('\n').filter((line) => line !== '' && !(foreign && line.startsWith(foreign))),
    );
    expect(errors).toEqual(COMPILED.map(() => []));
    const outcome = await startScript(join(folder, 'program.js'), [gateway.url]).finished;
    expect(outcome).toMatchObject({ code: 0, stdout: prints, stderr: '' });
  });
});
