import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ServerCommand } from '#lab/peers/server.js';

/** LiteLLM before servers: each model is served as `<server>/<model>`. */
export function litellmCommand(
  root: string,
  port: number,
  servers: readonly { readonly peer: string; readonly model: string; readonly url: string }[],
): ServerCommand {
  const config = join(root, 'servers', 'litellm.yaml');
  const models = servers.map(({ peer, model, url }) => ({
    model_name: `${peer}/${model}`,
    litellm_params: { model: `openai/${model}`, api_base: url, api_key: 'none' },
  }));
  // LiteLLM asks for a key otherwise; it listens on loopback only, as the servers behind it do.
  const general = { dangerously_permit_weak_or_unset_master_key: true };
  mkdirSync(dirname(config), { recursive: true });
  // JSON is YAML.
  writeFileSync(config, JSON.stringify({ model_list: models, general_settings: general }, null, 2));
  return {
    command: join(root, 'environments/litellm/bin/litellm'),
    args: [
      ...['--config', config, '--host', '127.0.0.1', '--port', String(port)],
      ...['--telemetry', 'False'],
    ],
    // Prices of models would be fetched from the web.
    env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
  };
}
