import { concatMap, defer, type OperatorFunction } from 'rxjs';
import { isAlarm } from '../risk/risk.js';
import type { Method } from '../uncertainty/method-names.js';
import type { GuardEvent, ScoreEvent, SpikeEvent, StepClosedEvent } from './events.js';

export interface SpikeOptions {
  readonly method: Method;
  /** Target false-alarm rate per token, in [0, 1]. */
  readonly rate: number;
  /** Whether the risks were calibrated beforehand. */
  readonly calibrated: boolean;
}

/**
 * Adds `spike.detected` right after each streaming score whose risk reaches the threshold, except for tokens inserted
 * by the guard.
 *
 * @example
 * scores.pipe(detectSpikes({ method: 'adversarial', rate: 0.01, calibrated: true }));
 */
export function detectSpikes<E extends GuardEvent | StepClosedEvent>(
  options: SpikeOptions,
): OperatorFunction<E, E | SpikeEvent> {
  return (source) =>
    defer(() => {
      const inserted = new Set<number>();
      return source.pipe(
        concatMap((event: E): (E | SpikeEvent)[] => {
          const known: GuardEvent | StepClosedEvent = event;
          if (known.type === 'token.delta' && known.inserted) inserted.add(known.index);
          if (known.type !== 'score.delta' || inserted.has(known.index)) return [event];
          return [event, ...spikeOf(known, options)];
        }),
      );
    });
}

function spikeOf({ index, pass, scores, risk: risks }: ScoreEvent, options: SpikeOptions): SpikeEvent[] {
  const { method, rate, calibrated } = options;
  const score = scores[method] ?? null;
  const risk = risks?.[method] ?? null;
  if (pass !== 'stream' || !isAlarm(risk, rate)) return [];
  return [{ type: 'spike.detected', index, method, score, risk, calibrated }];
}
