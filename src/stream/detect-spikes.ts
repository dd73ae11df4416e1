import type { OperatorFunction } from 'rxjs';
import { isAlarm } from '../risk/risk.js';
import type { Method } from '../uncertainty/method-names.js';
import type { GuardEvent, ScoreEvent, SpikeEvent, StepClosedEvent } from './events.js';
import { staged } from './stage.js';

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
  return staged((emit) => {
    const inserted = new Set<number>();
    return {
      next: (event) => {
        emit(event);
        const known: GuardEvent | StepClosedEvent = event;
        if (known.type === 'token.delta' && known.inserted) inserted.add(known.index);
        if (known.type !== 'score.delta' || inserted.has(known.index)) return;
        const spike = spikeOf(known, options);
        if (spike) emit(spike);
      },
    };
  });
}

function spikeOf({ index, pass, scores, risk: risks }: ScoreEvent, options: SpikeOptions): SpikeEvent | null {
  const { method, rate, calibrated } = options;
  const risk = risks?.[method] ?? null;
  if (pass !== 'stream' || !isAlarm(risk, rate)) return null;
  return { type: 'spike.detected', index, method, score: scores[method] ?? null, risk, calibrated };
}
