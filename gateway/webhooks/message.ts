import { usageFields, verdictFields } from '../../src/stream/wire.js';
import type { GenerationNews } from '../answers/answer-news.js';
import type { WebhookEvent } from '../config/webhooks-section.js';

/** Message to a receiver, without the time. It contains no text of prompts and answers. */
export interface WebhookMessage {
  readonly type: WebhookEvent;
  readonly data: object;
}

/** The message for news of an answer, if there is one. A request that was refused has no answer. */
export function messageOf(
  { responseId, model }: { readonly responseId: string; readonly model: string },
  news: GenerationNews,
): WebhookMessage | null {
  const about = { response_id: responseId, model };
  const none = { finish_reason: null, error: null, usage: null, verdict: null };
  switch (news.type) {
    case 'flagged': {
      const { step, from, to, part, method, score, risk, calibrated, unscored } = news.step;
      const position = { step, from, to, ...(part && { part }) };
      const rating = { method, score, risk, calibrated, ...(unscored !== undefined && { unscored }) };
      return { type: 'flag', data: { ...about, ...position, ...rating, action: news.action } };
    }
    case 'done': {
      const { finishReason, usage, verdict } = news.event;
      const end = { outcome: 'done', finish_reason: finishReason, usage: usageFields(usage) };
      return {
        type: 'verdict',
        data: { ...about, ...none, ...end, ...(verdict && { verdict: verdictFields(verdict) }) },
      };
    }
    case 'failed':
      return { type: 'verdict', data: { ...about, ...none, outcome: 'failed', error: news.code } };
    case 'cancelled':
      return { type: 'verdict', data: { ...about, ...none, outcome: 'cancelled' } };
    default:
      return null;
  }
}
