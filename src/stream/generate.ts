import { Observable } from 'rxjs';
import type { Engine } from '../engine/engine.js';
import type { GenerateRequest, Generation } from '../engine/generation.js';
import type { DoneEvent, TokenEvent } from './events.js';
import type { FlowGate } from './flow-gate.js';

/**
 * A generation as an Observable: its tokens, then `generation.done`. Every subscription generates anew;
 * unsubscribing cancels. While the gate is held no token is taken from the engine, and the engine soon pauses.
 *
 * Errors with an EngineError.
 *
 * @example
 * generate(engine, request, new FlowGate()).subscribe((event) => console.log(event));
 */
export function generate(
  engine: Engine,
  request: GenerateRequest,
  gate: FlowGate,
): Observable<TokenEvent | DoneEvent> {
  return new Observable((subscriber) => {
    let generation: Generation | null = null;

    const run = async (): Promise<void> => {
      generation = await engine.generate(request);
      while (!subscriber.closed) {
        await gate.opened();
        if (subscriber.closed) break;
        const item = await generation.next();
        if (item.type === 'end') {
          const usage = { promptTokens: request.promptIds.length, completionTokens: item.tokens };
          subscriber.next({ type: 'generation.done', finishReason: item.reason, usage });
          subscriber.complete();
        } else {
          subscriber.next({ ...item, type: 'token.delta' });
        }
      }
      generation.cancel(); // unsubscribed while the engine was taking it in
    };
    run().catch((error: unknown) => subscriber.error(error));

    return () => generation?.cancel();
  });
}
