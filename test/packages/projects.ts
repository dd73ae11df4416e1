/** What somebody installs of this repository, and the programs that are written with it. */
export interface Project {
  /** Folders of packages, each after those that it depends on. */
  readonly sources: readonly string[];
  /** What else is installed. */
  readonly beside?: readonly string[];
  /** Of the compiler. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Whether other packages' own types are newer than a compiler of two years ago. */
  readonly newerTypes?: true;
  readonly programs: Readonly<Record<string, { readonly program: string; readonly prints: string }>>;
}

const QUESTION = "{ role: 'user', content: 'What is 12 + 30 - 5?' }";

/** One compilation each: packages are together whose types may use the same others. */
export const PROJECTS: Readonly<Record<string, Project>> = {
  'the client alone': {
    sources: ['client', 'client/ai-sdk'],
    programs: {
      'flinch-client': {
        program: `import { answerOf, answerText, FlinchClient } from 'flinch-client';
          const client = new FlinchClient({ url: process.argv[2] ?? '' });
          const messages = [{ role: 'user', content: 'What is 12 + 30 - 5? Explain each step.' }] as const;
          const events = client.generate({ model: 'reasoner', messages, temperature: 0 });
          const types: string[] = [];
          await events.forEach((event) => {
            if (event.type === 'token.delta') types.push(event.text);
            // @ts-expect-error: no event has this type
            if (event.type === 'none') console.log(event);
          });
          let text: string = '';
          await events.pipe(answerOf()).forEach((answer) => {
            text = answerText(answer);
            // @ts-expect-error: a number or null
            const risk: string = answer.steps[0]?.risk ?? 0;
          });
          // @ts-expect-error: a string
          const id: number = text;
          client.close();
          console.log(text === types.join('') && text.includes('37'));
        `,
        prints: 'true\n',
      },
      'flinch-ai-sdk': {
        program: `import { flinchMetadata, flinchMiddleware } from 'flinch-ai-sdk';

          const flagged: boolean | null | undefined = flinchMetadata({})?.verdict.flagged;
          // @ts-expect-error: no action has this name
          flinchMiddleware({ guard: { action: 'none' } });
          console.log(flinchMiddleware().specificationVersion, flagged);
        `,
        prints: 'v3 undefined\n',
      },
    },
  },
  'the library, without types of Node': {
    sources: ['client', '.'],
    programs: {
      flinch: {
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
      'flinch-client and rxjs': {
        program: `import { answerOf, answerText, FlinchClient } from 'flinch-client';
          import { filter, firstValueFrom, lastValueFrom, map, type Observable, timeout } from 'rxjs';
          const client = new FlinchClient({ url: process.argv[2] ?? '' });
          const messages = [{ role: 'user', content: 'What is 12 + 30 - 5? Explain each step.' }] as const;
          const events = client.generate({ model: 'reasoner', messages, temperature: 0 });
          const texts: Observable<string> = events.pipe(answerOf(), map(answerText), timeout(60_000));
          const text: string = await lastValueFrom(texts);
          const first = await firstValueFrom(events.pipe(filter(({ type }) => type === 'generation.created'), map(({ type }) => type)));
          // @ts-expect-error: a string
          const id: number = first;
          const { status } = await firstValueFrom(client.state);
          client.close();
          console.log(status === 'open' && first === 'generation.created' && text.includes('37'));
        `,
        prints: 'true\n',
      },
      'flinch-client/protocol and zod': {
        program: `import { GENERATION_EVENTS, readEvent } from 'flinch-client/protocol';
          import { toJSONSchema } from 'zod';
          const { properties } = toJSONSchema(GENERATION_EVENTS['token.delta']);
          const event = readEvent('{"type": "heartbeat"}');
          // @ts-expect-error: a string
          const type: number = event.type;
          console.log(event.type, Object.keys(properties ?? {}).length);
        `,
        prints: 'heartbeat 11\n',
      },
    },
  },
  servers: {
    sources: ['client', '.', 'redis', 'bench'],
    // The package `openai` has types of Node in its own.
    beside: ['@types/node', 'undici-types', 'openai'],
    programs: {
      'flinch/gateway': {
        program: `import { createServer } from 'node:http';
          import { createGateway, Models, startGateway } from 'flinch/gateway';
          import * as client from 'flinch/client';
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
          console.log([wrong, client, internals, state].every((each) => Object.keys(each).length > 1));
        `,
        prints: '200\ntrue\n',
      },
      'flinch-client/openai': {
        program: `import OpenAI from 'openai';
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
        `,
        prints: 'true boolean 0.1 number reasoner\n',
      },
      'flinch-redis': {
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
        program: `import { benchCommand, dataCommand } from 'flinch-bench';

          const name: string = dataCommand().name();
          console.log((await benchCommand()).name(), name);
        `,
        prints: 'bench data\n',
      },
    },
  },
  'other frameworks': {
    sources: ['client', 'client/langchain', 'client/ai-sdk', 'client/react'],
    beside: [
      '@langchain/core',
      '@langchain/openai',
      'react',
      'react-dom',
      '@types/react',
      '@types/react-dom',
      'ai',
      '@ai-sdk/provider',
    ],
    // LangChain's own types need the newest library.
    options: { lib: ['esnext', 'dom'] },
    newerTypes: true,
    programs: {
      'flinch-langchain': {
        program: `import { ChatFlinch, flinchOf } from 'flinch-langchain';

          const model = new ChatFlinch({ url: process.argv[2] ?? '', model: 'reasoner', temperature: 0, guard: { rate: 0.1 } });
          const message = await model.invoke('What is 12 + 30 - 5?');
          const rate = flinchOf(message)?.guard?.rate;
          // @ts-expect-error: no action has this name
          new ChatFlinch({ model: 'reasoner', guard: { action: 'none' } });
          console.log(message.text.includes('37'), rate);
        `,
        prints: 'true 0.1\n',
      },
      'flinch-react and flinch-ai-sdk': {
        program: `import type { LanguageModelV3Middleware } from '@ai-sdk/provider';
          import { createUIMessageStream, type LanguageModelMiddleware, type UIMessage } from 'ai';
          import { type FlinchDataParts, flinchMetadata, flinchMiddleware } from 'flinch-ai-sdk';
          import { FlaggedText } from 'flinch-react';
          import { createElement } from 'react';
          import { renderToStaticMarkup } from 'react-dom/server';

          // A style is for bundlers.
          type Style = typeof import('flinch-react/style.css');
          const middleware: LanguageModelMiddleware & LanguageModelV3Middleware = flinchMiddleware();
          // @ts-expect-error: no action has this name
          flinchMiddleware({ guard: { action: 'none' } });
          createUIMessageStream<UIMessage<unknown, FlinchDataParts>>({
            execute: ({ writer }) => {
              flinchMiddleware({ onData: (part) => writer.write(part) });
              // @ts-expect-error: a step is more than this
              writer.write({ type: 'data-flinch-step', data: { step: 0 } });
            },
          });
          const flagged: boolean | null | undefined = flinchMetadata({})?.verdict.flagged;
          console.log(middleware.specificationVersion, flagged);
          // @ts-expect-error: a text
          createElement(FlaggedText, { text: 1, steps: [], verdict: null });
          const shown = renderToStaticMarkup(createElement(FlaggedText, { text: 'One', steps: [], verdict: null }));
          console.log(/^<div class="flinch">.*One.*not judged/i.test(shown));
        `,
        prints: 'v3 undefined\ntrue\n',
      },
    },
  },
};
