import { existsSync } from 'node:fs';
import type { CheckpointConfig, UpstreamModelConfig } from '../gateway/config/config.js';
import { UpstreamError } from '../gateway/upstream/errors.js';
import { credentialsOf } from '../gateway/upstream/open-upstream-model.js';
import { UpstreamServer } from '../gateway/upstream/servers/upstream-server.js';
import type { Capabilities } from '../gateway/upstream/upstream.js';
import { DEFAULT_MEMORY_SHARE } from '../src/engine/engine.js';
import { shownAddress } from '../src/files/shown-address.js';
import { asHubModel } from '../src/hub/hub-model.js';
import { readCalibration } from '../src/risk/calibration-file.js';
import { attempt, bad, type Finding, ok } from './doctor-finding.js';
import { formatBytes } from './format.js';
import { memoryOf } from './inspect.js';
import { type ModelFacts, readModelFacts } from './model-facts.js';
import { shellWord } from './shell-word.js';

type ModelConfig = CheckpointConfig | UpstreamModelConfig;

/** Tokens of prompt and response that memory is stated for, as in `flinch inspect`. */
const LENGTH = 1024;
/** A server that has not answered a question of a few tokens by then is slow. */
const PATIENCE_S = 20;

/** A model of the configuration: its files, memory and calibration, or those of its scorer, and its servers. */
export async function modelFindings(
  name: string,
  model: ModelConfig,
  env: NodeJS.ProcessEnv,
): Promise<readonly Finding[]> {
  const folder = 'checkpoint' in model ? model.checkpoint : model.scorer;
  const field = `models.${name}.${'checkpoint' in model ? 'checkpoint' : 'scorer'}`;
  const [files, servers] = await Promise.all([
    folder === undefined
      ? []
      : attempt('model', () => checkpointFindings(name, model, folder, field), null, name),
    'upstreams' in model ? upstreamFindings(name, model, env) : [],
  ]);
  return [...servers, ...files];
}

async function checkpointFindings(
  name: string,
  model: ModelConfig,
  folder: string,
  field: string,
): Promise<readonly Finding[]> {
  if (!existsSync(folder)) {
    const pull = asHubModel(folder)
      ? `flinch pull ${shellWord(folder)}`
      : `${field}: the folder of a checkpoint`;
    return [bad('problem', 'model', `${folder}: no such file or folder`, pull, name)];
  }
  const facts = await readModelFacts(folder);
  const { config, parameters, weightBytes } = facts;
  const size = `${config.family}, ${formatParameters(parameters)}, weights of ${formatBytes(weightBytes)}`;
  return [
    ok('model', `${folder}: ${size}`, name),
    ...(facts.files?.warnings ?? []).map((warning) => bad('warning', 'tokens', warning, null, name)),
    memoryFinding(name, model, facts, folder),
    await calibrationFinding(name, model, facts, folder),
  ];
}

const formatParameters = (parameters: number): string =>
  `${parameters < 1e9 ? `${Math.round(parameters / 1e6)} M` : `${(parameters / 1e9).toPrecision(2)} B`} parameters`;

function memoryFinding(name: string, model: ModelConfig, facts: ModelFacts, folder: string): Finding {
  const { config, weightBytes } = facts;
  if (model.device !== 'cpu') return ok('memory', `on ${model.device}: known once it is opened`, name);
  const length = Math.min(config.maxPositions, LENGTH);
  const { decode, windowed } = memoryOf(config, length);
  const kept = ('checkpoint' in model ? decode.kept : 0) + windowed.kept;
  const run = ('checkpoint' in model ? decode.run : 0) + windowed.run;
  const free = process.availableMemory();
  const limit = model.memory ?? DEFAULT_MEMORY_SHARE * free;
  const responses = Math.floor((limit - run) / kept);
  const inspect = `flinch inspect ${shellWord(folder)} --length ${length}`;
  const need = `${formatBytes(kept)} for each response of ${length} tokens, ${formatBytes(run)} for passes`;
  const room = `${formatBytes(free)} free, of which ${formatBytes(limit)} may be used`;
  if (responses < 1)
    return bad(
      'problem',
      'memory',
      `${need}: more than fits (${room})`,
      `${inspect} # and a smaller model`,
      name,
    );
  // Weights are mapped: what does not fit is read from the disk again and again.
  if (weightBytes + kept + run > free) {
    const found = `weights of ${formatBytes(weightBytes)} do not fit beside it (${room}): it will be slow`;
    return bad('warning', 'memory', found, `${inspect} # and a smaller model, or one of fewer bits`, name);
  }
  const fit = Math.min(responses, model.max_streams);
  return ok('memory', `${need}; ${fit} at once (${room})`, name);
}

async function calibrationFinding(
  name: string,
  model: ModelConfig,
  { files }: ModelFacts,
  folder: string,
): Promise<Finding> {
  const calibrate = `flinch calibrate --model ${shellWord(folder)}`;
  if (model.calibration !== undefined) {
    if (await readCalibration(model.calibration)) return ok('calibration', model.calibration, name);
    const remedy = `${calibrate} --output ${shellWord(model.calibration)}`;
    return bad('problem', 'calibration', `${model.calibration}: no such file`, remedy, name);
  }
  const ranks = 'risks are ranks among the scores so far';
  switch (files?.calibration) {
    case 'own':
      return ok('calibration', 'its own', name);
    case 'shipped':
      return ok('calibration', 'shipped for this model', name);
    case 'of another model':
      return bad(
        'warning',
        'calibration',
        `the one beside it is of another model; ${ranks}`,
        calibrate,
        name,
      );
    case 'unknown':
      return ok('calibration', 'known once the weights are converted', name);
    default:
      return bad('warning', 'calibration', `none; ${ranks}`, calibrate, name);
  }
}

async function upstreamFindings(
  name: string,
  config: UpstreamModelConfig,
  env: NodeJS.ProcessEnv,
): Promise<readonly Finding[]> {
  const each = config.upstreams.map((upstream, i) => {
    const place = `models.${name}.upstreams[${i}]`;
    return attempt(
      'upstream',
      () => upstreamFinding(name, config, i, credentialsOf(upstream, env, place)),
      null,
      name,
    );
  });
  return (await Promise.all(each)).flat();
}

async function upstreamFinding(
  name: string,
  config: UpstreamModelConfig,
  index: number,
  credentials: ReturnType<typeof credentialsOf>,
): Promise<Finding> {
  const { url, model = name } = config.upstreams[index]!;
  const shown = shownAddress(url);
  const { connect_s, first_byte_s, idle_s } = config.timeouts;
  const timeouts = {
    connect_s: Math.min(connect_s, PATIENCE_S),
    first_byte_s: Math.min(first_byte_s, PATIENCE_S),
    idle_s: Math.min(idle_s, PATIENCE_S),
  };
  const server = new UpstreamServer({ url, model, ...credentials, timeouts, limits: config.limits });
  const field = `models.${name}.upstreams[${index}]`;
  try {
    const capabilities = await server.probe();
    const can = `${shown}: ${capabilityWords(capabilities)}`;
    if (capabilities.logprobs !== null || config.scorer !== undefined) return ok('upstream', can, name);
    const remedy = `models.${name}.scorer: the folder of a checkpoint with the same weights`;
    return bad('warning', 'upstream', `${can}; without them nothing is scored`, remedy, name);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const { code, message, reason } = error;
    const remedy = await upstreamRemedy(error, server, { url, model, field });
    const found = `${shown}: ${code}: ${message}${reason === null ? '' : ` (${reason})`}`;
    return bad('problem', 'upstream', found, remedy, name);
  } finally {
    server.close();
  }
}

async function upstreamRemedy(
  { code }: UpstreamError,
  server: UpstreamServer,
  { url, model, field }: { readonly url: string; readonly model: string; readonly field: string },
): Promise<string> {
  const base = shownAddress(url.replace(/\/?([?#].*)?$/s, ''));
  const list = `curl ${shellWord(`${base}/models`)}`;
  if (code === 'upstream_unauthorized') return `${field}.key_env: the variable with the key of this server`;
  if (code !== 'upstream_not_found') return `${list} # and start the server, or correct ${field}.url`;
  if (await server.lacksVersion()) return `${field}.url: ${base}/v1`;
  return `${list} # and set ${field}.model to one of these names, in place of ${model}`;
}

const IDS = {
  return_token_ids: 'ids of tokens as vLLM tells them',
  return_tokens: 'ids of tokens as llama.cpp tells them',
  none: 'no ids of tokens',
} as const satisfies Record<Capabilities['tokenIds'], string>;

const RESUMES = {
  tokens: 'goes on with a text by its tokens',
  continueFinalMessage: 'goes on with a last message',
  prompt: 'goes on with a raw prompt',
  none: 'does not go on with a text (no rollback)',
} as const satisfies Record<Capabilities['resume'], string>;

function capabilityWords({ logprobs, tokenIds, resume }: Capabilities): string {
  const told = logprobs === null ? 'no log-probabilities' : `log-probabilities with ${logprobs} alternatives`;
  return `answers; ${told}; ${IDS[tokenIds]}; ${RESUMES[resume]}`;
}
