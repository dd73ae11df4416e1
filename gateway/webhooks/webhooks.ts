import type { Logger } from 'pino';
import type { Listen } from '../answers/answer-news.js';
import type { WebhookConfig, WebhookEvent } from '../config/webhooks-section.js';
import { Delivery, type DeliveryOutcome } from './delivery.js';
import { messageOf } from './message.js';
import { poster } from './post.js';
import { keyOf } from './webhook-signature.js';

export interface WebhooksOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly logger: Logger;
  /** @param webhook index of the webhook in the configuration */
  readonly counted: (webhook: number, event: WebhookEvent, outcome: DeliveryOutcome) => void;
}

export interface Webhooks {
  readonly listen: Listen;
  /** @param ms time limit for messages that are left */
  close(ms: number): Promise<void>;
}

/**
 * Sends flagged steps and the verdict on each answer to the receivers of the configuration.
 * @throws ConfigError for a secret that cannot be used
 */
export function openWebhooks(
  config: readonly WebhookConfig[],
  { env, logger, counted }: WebhooksOptions,
): Webhooks {
  const receivers = config.map((webhook, i) => {
    const key = keyOf(webhook, env, `webhooks[${i}]`);
    const delivery = new Delivery({
      key,
      poster: poster(webhook.url),
      outcome: (event, outcome, why) => {
        counted(i, event, outcome);
        // The webhook is named by its index: the log has no addresses.
        if (outcome === 'failed') logger.warn({ webhook: i, event, ...why }, 'webhook failed');
      },
    });
    return { events: webhook.events, delivery };
  });
  return {
    listen: ({ model, asked: { responseId } }) => ({
      tell: (news) => {
        const message = messageOf({ model, responseId }, news);
        if (!message) return;
        for (const { events, delivery } of receivers)
          if (events.includes(message.type)) delivery.push(message);
      },
    }),
    close: async (ms) => {
      await Promise.all(receivers.map(({ delivery }) => delivery.close(ms)));
    },
  };
}

/** @throws ConfigError for a secret that cannot be used */
export function checkWebhooks(config: readonly WebhookConfig[], env: NodeJS.ProcessEnv): void {
  for (const [i, webhook] of config.entries()) keyOf(webhook, env, `webhooks[${i}]`);
}
