import type { GuardRequest } from 'flinch-client';

type ProviderOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Names of a provider's options, as in `@ai-sdk/openai-compatible`. */
const optionNames = (provider: string): readonly [string, string] => {
  const name = provider.split('.')[0]?.trim() ?? '';
  return [name, name.replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())];
};

/** Options with `guard`, unless the call has its own. OpenAI-compatible providers send what they do not know. */
export function withGuard(
  options: ProviderOptions | undefined,
  provider: string,
  guard: GuardRequest,
): Record<string, Record<string, unknown>> {
  const names = optionNames(provider);
  const own = names.some((name) => options?.[name]?.guard !== undefined);
  const [, key] = names;
  return { ...options, ...(!own && { [key]: { ...options?.[key], guard: { ...guard } } }) };
}

/** @param body body of the request as the provider reports it: text, an object, or nothing */
export function lacksGuard(body: unknown): boolean {
  const sent: unknown = typeof body === 'string' ? JSON.parse(body) : body;
  return typeof sent === 'object' && sent !== null && !('guard' in sent);
}

/** Error for a guard that was not sent: the answer would silently have a weaker guard than requested. */
export const notSent = (provider: string): Error =>
  new Error(
    `guard: the provider "${provider}" did not send it. Use createOpenAICompatible, or set a policy in the gateway`,
  );
