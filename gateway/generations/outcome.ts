import type { DoneEvent, EscalatedEvent, GuardEvent, VotedEvent } from '../../src/stream/events.js';

/** What the log says of an answer, as far as it got: numbers and names, no text. */
export class Outcome {
  readonly #policy: string | undefined;
  #tokens = 0;
  #flaggedSteps = 0;
  #stopped = false;
  #escalation: Pick<EscalatedEvent, 'to' | 'failed'> | undefined;
  #vote: Pick<VotedEvent, 'answers' | 'agreed' | 'replaced' | 'failed'> | undefined;
  #done: DoneEvent | null = null;

  /** @param policy name of the operator's policy, if there is one */
  constructor(policy: string | null = null) {
    this.#policy = policy ?? undefined;
  }

  /** Each token passes here. */
  add(event: GuardEvent): void {
    switch (event.type) {
      case 'token.delta':
        this.#tokens = event.index + 1;
        break;
      case 'token.retracted':
        this.#tokens = event.from;
        break;
      case 'step.done':
        if (event.flagged) this.#flaggedSteps += 1;
        break;
      case 'step.flagged':
        if (event.action !== 'stop') break;
        this.#stopped = true;
        this.#flaggedSteps += 1;
        break;
      case 'generation.escalated':
        this.#escalation = { to: event.to, failed: event.failed };
        if (event.failed === null) this.#startAnew();
        break;
      case 'generation.voted': {
        const { answers, agreed, replaced, failed } = event;
        this.#vote = { answers, agreed, replaced, failed };
        if (replaced) this.#startAnew();
        break;
      }
      case 'generation.done':
        this.#done = event;
    }
  }

  /** Fields of a log line; those that are `undefined` are left out. */
  get fields() {
    const { usage, finishReason, verdict } = this.#done ?? {};
    return {
      policy: this.#policy,
      prompt_tokens: usage?.promptTokens ?? undefined,
      completion_tokens: usage?.completionTokens ?? this.#tokens,
      finish_reason: finishReason,
      flagged: verdict?.flagged,
      flagged_steps: verdict?.flaggedSteps ?? this.#flaggedSteps,
      reason: this.#stopped ? 'stopped' : (verdict?.reason ?? undefined),
      escalation: this.#escalation,
      vote: this.#vote,
    };
  }

  /** What was written before is void. */
  #startAnew(): void {
    this.#tokens = 0;
    this.#flaggedSteps = 0;
  }
}
