import { Observable } from 'rxjs';
import type { Engine } from '../engine/engine.js';
import type { GenerateRequest, Generation } from '../engine/generation.js';
import type { DoneEvent, TokenEvent } from './events.js';
import type { FlowGate } from './flow-gate.js';

/**
 * A generation as an Observable: its tokens, then `generation.done`. Each subscription starts a new generation;
 * unsubscribing cancels it. While the gate is held, no tokens are taken from the engine, and the engine soon pauses.
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
    const start = async (): Promise<void> => {
      generation = await engine.generate(request);
      if (subscriber.closed)
        generation.cancel(); // unsubscribed while the engine was taking it in
      else subscriber.add(readTokens(generation, request.promptIds.length, gate).subscribe(subscriber));
    };
    start().catch((error: unknown) => subscriber.error(error));
    return () => generation?.cancel();
  });
}

/** The tokens of a generation that is under way, then `generation.done`. Unsubscribing leaves it as it is. */
export function readTokens(
  generation: Pick<Generation, 'next' | 'cachedTokens'>,
  promptTokens: number,
  gate: FlowGate,
): Observable<TokenEvent | DoneEvent> {
  return new Observable((subscriber) => {
    const read = async (): Promise<void> => {
      while (!subscriber.closed) {
        await gate.opened();
        if (subscriber.closed) return;
        const item = await generation.next();
        if (item.type === 'end') {
          const { cachedTokens } = generation;
          const usage = { promptTokens, cachedTokens, completionTokens: item.tokens };
          subscriber.next({ type: 'generation.done', finishReason: item.reason, usage });
          subscriber.complete();
        } else {
          subscriber.next(item);
        }
      }
    };
    read().catch((error: unknown) => subscriber.error(error));
  });
}
