import { createHmac } from 'node:crypto';
import { ConfigError } from '../config/config-error.js';
import { readSecret } from '../config/secret.js';
import type { WebhookConfig } from '../config/webhooks-section.js';

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const BYTES = { min: 24, max: 64 };

/**
 * The key of a webhook's secret.
 * @param webhook its place in the configuration
 * @throws ConfigError that names the variable or the file, for a secret that is not there or is none
 */
export function keyOf(
  { secret_env: variable, secret_file: file }: WebhookConfig,
  env: NodeJS.ProcessEnv,
  webhook: string,
): Buffer {
  const location = `${webhook}.${file === undefined ? 'secret_env' : 'secret_file'}`;
  const { text, source } = readSecret({ env: variable, file }, env, location);
  const key = Buffer.from(SECRET.exec(text)?.[1] ?? '', 'base64');
  if (key.length >= BYTES.min && key.length <= BYTES.max) return key;
  throw new ConfigError(
    location,
    `${source} must be whsec_ and ${BYTES.min} to ${BYTES.max} bytes in Base64`,
  );
}

/** The headers by which a receiver knows the sender of a message, and its time (Standard Webhooks 1.0.0). */
export function signatureHeaders(key: Buffer, id: string, seconds: number, body: string) {
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  };
}
