import { z } from 'zod';
import { httpUrl, secretFile, variable } from './config-fields.js';

/** Events that webhooks can receive. */
export const WEBHOOK_EVENTS = ['flag', 'verdict'] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

const webhookSchema = z
  .strictObject({
    url: httpUrl
      .meta({ content: 'receiver' })
      .describe('Where messages are sent by POST; redirects are not followed.'),
    secret_env: variable
      .optional()
      .describe(
        'Environment variable with the secret that signs messages: `whsec_` and 24 to 64 bytes in Base64 (Standard Webhooks).',
      ),
    secret_file: secretFile.optional().describe('File with the secret, instead of `secret_env`.'),
    events: z
      .array(z.enum(WEBHOOK_EVENTS))
      .min(1)
      .default([...WEBHOOK_EVENTS])
      .describe('What is sent: `flag` for each flagged step, `verdict` for each answer.'),
  })
  .refine(({ secret_env, secret_file }) => (secret_env === undefined) !== (secret_file === undefined), {
    error: 'must have either secret_env or secret_file',
  });

export type WebhookConfig = z.output<typeof webhookSchema>;

export const webhooksSection = z
  .array(webhookSchema)
  .max(16)
  .default([])
  .describe('Receivers of flags and verdicts (default: none).');
