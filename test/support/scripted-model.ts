import { setImmediate, setTimeout } from 'node:timers/promises';
import { Observable } from 'rxjs';
import { onTestFinished } from 'vitest';
import { Models, type Prepared, type ServedModel, startGateway } from '#gateway/index.js';
import { guardSchema } from '#gateway/requests/guard-limits.js';
import type { FlowGate, GuardEvent } from '#src/index.js';
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

  async prepare(request: { readonly max_tokens?: number | null | undefined }): Promise<Prepared> {
    return prepared((gate) => this.#write(request.max_tokens ?? 10, gate));
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

export function prepared(start: Prepared['start']): Prepared {
  const guard = guardSchema.parse({ enabled: false });
  const scoring = { ...guard.scoring, alpha: 1e-4, sigma: 1e-3 };
  return {
    model: 'reasoner',
    vocabulary: null,
    guard: { ...guard, scoring, methods: ['nll'], method: 'nll' },
    promptTokens: 1,
    start,
  };
}

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
