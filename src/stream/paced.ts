import { type MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { FlowGate } from './flow-gate.js';

/** Events that are passed on before what else the process does has its turn. */
const AT_ONCE = 256;

/**
 * Passes on events that come all at once, such as those of a step that was held back, in several turns of the
 * event loop. Waiting events hold the gate, so that the source is paused meanwhile.
 *
 * @example
 * guarded.pipe(holdBack({ now }), paced(gate));
 */
export function paced<T>(gate: FlowGate): MonoTypeOperatorFunction<T> {
  return (source) =>
    new Observable((subscriber) => {
      let passed = 0;
      let waiting: T[] = [];
      let next = 0;
      /** How the source has ended. */
      let end: (() => void) | null = null;
      let release: (() => void) | null = null;
      let turn: NodeJS.Immediate | undefined;

      const pass = (): void => {
        turn = undefined;
        if (subscriber.closed) return;
        for (passed = 0; passed < AT_ONCE && next < waiting.length; passed++) {
          const event = waiting[next++];
          if (event !== undefined) subscriber.next(event);
        }
        if (next < waiting.length) {
          turn = setImmediate(pass);
          return;
        }
        waiting = [];
        next = 0;
        release?.();
        release = null;
        end?.();
      };
      subscriber.add(() => {
        clearImmediate(turn);
        release?.();
      });
      subscriber.add(
        source.subscribe({
          next: (event) => {
            if (!turn && passed++ < AT_ONCE) {
              subscriber.next(event);
              return;
            }
            waiting.push(event);
            turn ??= setImmediate(pass);
            release ??= gate.hold();
          },
          error: (error: unknown) => {
            end = () => subscriber.error(error);
            if (!turn) end();
          },
          complete: () => {
            end = () => subscriber.complete();
            if (!turn) end();
          },
        }),
      );
    });
}
