import { setImmediate, setTimeout } from 'node:timers/promises';
import { EMPTY, Observable } from 'rxjs';
import { onTestFinished } from 'vitest';
import type { Asked } from '#gateway/answers/asked.js';
import type { Answer } from '#gateway/answers/served-model.js';
import { Models, type ServedModel, type Source, startGateway } from '#gateway/index.js';
import { guardSchema } from '#gateway/requests/guard-limits.js';
import { DEFAULT_SCORING, type FlowGate, type GuardEvent } from '#src/index.js';
import { doneEvent, tokenEvent } from './events.js';
import type { SettingsChanges } from './gateway.js';

export interface Script {
  /** Text of each token. */
  readonly text?: (index: number) => string;
  /** Pause between two tokens. */
  readonly pauseMs?: number;
}

export interface Written {
  tokens: number;
  state: 'writing' | 'done' | 'cancelled';
}

/**
 * A model that writes what a test wants, `max_tokens` of it, as fast as the gate lets it. `written` says how far each
 * of its generations is.
 */
export class ScriptedModel implements ServedModel {
  readonly name = 'reasoner';
  readonly written: Written[] = [];
  readonly #script: Script;

  constructor(script: Script = {}) {
    this.#script = script;
  }

  status() {
    return { ready: true };
  }

  async source({ fields }: Asked): Promise<Source> {
    return scriptedSource((gate) => this.#write(fields.max_tokens ?? 10, gate));
  }

  #write(tokens: number, gate: FlowGate): Observable<GuardEvent> {
    const { text = (index: number) => `${index} `, pauseMs } = this.#script;
    return new Observable((subscriber) => {
      const written: Written = { tokens: 0, state: 'writing' };
      this.written.push(written);
      const write = async (): Promise<void> => {
        for (let index = 0; index < tokens; index++) {
          await (pauseMs === undefined ? setImmediate() : setTimeout(pauseMs));
          await gate.opened();
          if (subscriber.closed) return;
          subscriber.next(tokenEvent(index, { text: text(index) }));
          written.tokens += 1;
        }
        written.state = 'done';
        subscriber.next(doneEvent('stop', tokens));
        subscriber.complete();
      };
      write().catch((error: unknown) => subscriber.error(error));
      return () => {
        if (written.state === 'writing') written.state = 'cancelled';
      };
    });
  }
}

type Start = (gate: FlowGate) => Observable<GuardEvent>;

/** An answer without a guard. */
export function scriptedAnswer(start: Start): Answer {
  const guard = guardSchema.parse({ enabled: false });
  const scoring = { ...guard.scoring, alpha: 1e-4, sigma: 1e-3 };
  return {
    model: 'reasoner',
    vocabulary: null,
    guard: { ...guard, scoring, methods: ['nll'], method: 'nll' },
    set: {},
    promptTokens: 1,
    form: 'tokens',
    start,
  };
}

/** A text that nothing scores, whatever the guard of the request is. */
export const scriptedSource = (start: Start): Source => ({
  judge: {
    settle: async (fields) => ({
      settings: { ...scriptedAnswer(start).guard, ...fields, ...UNSCORED },
      scoring: DEFAULT_SCORING,
    }),
    rate: () => Promise.reject(new Error('nothing is rated')),
  },
  prepare: async () => ({
    vocabulary: null,
    promptTokens: 1,
    warnings: [],
    seed: 1,
    open: async () => ({
      promptTokens: 1,
      written: 0,
      events: start,
      fits: () => false,
      fork: () => Promise.reject(new Error('not asked for')),
      close: () => {},
    }),
  }),
});

const { scoring: SCORING } = scriptedAnswer(() => EMPTY).guard;
const UNSCORED = { scoring: SCORING, enabled: false, methods: ['nll' as const], method: 'nll' as const };

/** A gateway with a scripted model, until the test is over. */
export async function scriptedGateway(
  { bounds = {}, ...settings }: SettingsChanges = {},
  script: Script = {},
) {
  const model = new ScriptedModel(script);
  const gateway = await startGateway({
    models: new Models([model]),
    config: { ...settings, listen: { port: 0 } },
    bounds,
  });
  onTestFinished(() => gateway.close());
  return { gateway, model, url: gateway.url };
}
