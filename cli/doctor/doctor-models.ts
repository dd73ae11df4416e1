import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { CheckpointConfig, UpstreamModelConfig } from '../../gateway/config/models-section.js';
import { credentialsOf } from '../../gateway/upstream/open-upstream-model.js';
import { UpstreamServer } from '../../gateway/upstream/servers/upstream-server.js';
import type { Capabilities } from '../../gateway/upstream/upstream.js';
import { UpstreamError } from '../../gateway/upstream/upstream-error.js';
import { type MachineSpeed, measureMachine } from '../../src/cost/machine-speed.js';
import { modelSpeed } from '../../src/cost/model-speed.js';
import { DEFAULT_MEMORY_SHARE } from '../../src/engine/engine.js';
import { decodeMemory, gpuWeights, scoreMemory } from '../../src/engine/memory.js';
import { isWritable, temporaryCache, userCache } from '../../src/files/cache-folder.js';
import { shownAddress } from '../../src/files/shown-address.js';
import { asHubModel } from '../../src/hub/hub-model.js';
import { readCalibration } from '../../src/risk/calibration-file.js';
import { DEFAULT_BLOCK, DEFAULT_WINDOW } from '../../src/uncertainty/settings.js';
import { type ModelFacts, readModelFacts } from '../model-facts.js';
import type { ServeConfig } from '../serve/serve-config.js';
import { shellWord } from '../shell-word.js';
import { formatBytes, rounded } from '../terminal-format.js';
import { attempt, bad, type Finding, ok } from './doctor-finding.js';
import { tokenWords, weightWords } from './model-words.js';

type ModelConfig = CheckpointConfig | UpstreamModelConfig;

/** Tokens of prompt and response that memory and speed are stated for. */
const LENGTH = 1024;
/** A server that has not answered a question of a few tokens by then is slow. */
const PATIENCE_S = 20;

/** Tokens in a second below which people read faster. */
const SLOW = 5;

/** This machine, as models use it, and each of them. */
export async function modelsFindings(
  { models }: Pick<ServeConfig, 'models'>,
  env: NodeJS.ProcessEnv,
): Promise<readonly Finding[]> {
  const all = Object.entries(models);
  const local = all.some(([, model]) => folderOf(model) !== undefined && model.device === 'cpu');
  const threads = availableParallelism();
  const machine = local ? await measureMachine(threads) : null;
  const words = machine && [
    `${threads} threads`,
    `${formatBytes(process.availableMemory())} of memory free`,
    `${rounded(machine.flops / 1e9)} GFLOP/s`,
    `reads ${rounded(machine.bandwidth / 1e9)} GB/s`,
  ];
  const each = all.map(([name, model]) => modelFindings(name, model, env, machine));
  return [
    ...(words ? [ok('machine', words.join(', '), undefined, { threads, ...machine })] : []),
    ...(await Promise.all(each)).flat(),
  ];
}

const folderOf = (model: ModelConfig): string | undefined =>
  'checkpoint' in model ? model.checkpoint : model.scorer;

/** A model of the configuration: its files, memory, speed and calibration, or those of its scorer, and its servers. */
async function modelFindings(
  name: string,
  model: ModelConfig,
  env: NodeJS.ProcessEnv,
  machine: MachineSpeed | null,
): Promise<readonly Finding[]> {
  const folder = folderOf(model);
  const field = `models.${name}.${'checkpoint' in model ? 'checkpoint' : 'scorer'}`;
  const speed = model.device === 'cpu' ? machine : null;
  const [files, servers] = await Promise.all([
    folder === undefined
      ? []
      : attempt('model', () => checkpointFindings(name, model, { folder, field }, speed), null, name),
    'upstreams' in model ? upstreamFindings(name, model, env) : [],
  ]);
  return [...servers, ...files];
}

async function checkpointFindings(
  name: string,
  model: ModelConfig,
  { folder, field }: { readonly folder: string; readonly field: string },
  machine: MachineSpeed | null,
): Promise<readonly Finding[]> {
  if (!existsSync(folder)) {
    const pull = asHubModel(folder)
      ? `flinch pull ${shellWord(folder)}`
      : `${field}: the folder of a checkpoint`;
    return [bad('problem', 'model', `${folder}: no such file or folder`, pull, name)];
  }
  const facts = await readModelFacts(folder);
  return [
    ok('model', `${folder}: ${weightWords(facts)}`, name, facts),
    ok('tokens', tokenWords(facts), name),
    ...facts.warnings.map((warning) => bad('warning', 'tokens', warning, null, name)),
    ...(facts.integers || facts.float8 || model.precision === 'bf16' ? cacheFindings(name) : []),
    memoryFinding(name, model, facts),
    ...(machine ? [speedFinding(name, facts, machine)] : []),
    await calibrationFinding(name, model, facts, folder),
  ];
}

/** Whether there is a place for weights that are converted. */
function cacheFindings(name: string): readonly Finding[] {
  const cache = userCache();
  if (isWritable(cache)) return [];
  const temporary = temporaryCache();
  const [status, found] =
    temporary === null
      ? (['problem', 'weights cannot be converted'] as const)
      : (['warning', `weights are converted into ${temporary}, in memory if that is a tmpfs`] as const);
  const remedy = 'export XDG_CACHE_HOME=/var/cache # or another folder that can be written';
  return [bad(status, 'cache', `${cache} cannot be written: ${found}`, remedy, name)];
}

function memoryFinding(name: string, model: ModelConfig, facts: ModelFacts): Finding {
  const { config, weightBytes, parameters, integers, float8, types } = facts;
  if (model.device !== 'cpu') {
    const widened = float8 || (!integers && types.includes('bf16'));
    const halves = model.precision === 'bf16';
    const { webgpu, cuda } = gpuWeights(halves ? 2 * parameters : weightBytes, { parameters, widened });
    const onCuda = `${formatBytes(cuda)} with CUDA`;
    return ok('memory', `weights of ${halves ? '' : `${formatBytes(webgpu)} with WebGPU, `}${onCuda}`, name);
  }
  const length = Math.min(config.maxPositions, LENGTH);
  const threads = availableParallelism();
  const decode = decodeMemory({ config, threads }, length);
  const score = scoreMemory(
    { config, threads },
    { positions: length, window: DEFAULT_WINDOW, scored: DEFAULT_BLOCK, replicas: 0 },
  );
  const kept = ('checkpoint' in model ? decode.kept : 0) + score.kept;
  const run = ('checkpoint' in model ? decode.run : 0) + score.run;
  const free = process.availableMemory();
  const limit = model.memory ?? DEFAULT_MEMORY_SHARE * free;
  const responses = Math.floor((limit - run) / kept);
  const need = `${formatBytes(kept)} for each response of ${length} tokens, ${formatBytes(run)} for passes`;
  const room = `${formatBytes(free)} free, of which ${formatBytes(limit)} may be used`;
  if (responses < 1) {
    const remedy = 'a smaller model, or a higher memory limit (--memory)';
    return bad('problem', 'memory', `${need}: more than fits (${room})`, remedy, name);
  }
  // Weights are mapped: what does not fit is read from the disk again and again.
  if (weightBytes + kept + run > free) {
    const found = `weights of ${formatBytes(weightBytes)} do not fit beside it (${room}): it will be slow`;
    return bad('warning', 'memory', found, 'a smaller model, or one of fewer bits', name);
  }
  const fit = Math.min(responses, model.max_streams);
  return ok('memory', `${need}; ${fit} at once (${room})`, name, { length, kept, run });
}

function speedFinding(name: string, { config, weightBytes }: ModelFacts, machine: MachineSpeed): Finding {
  const speed = modelSpeed(config, weightBytes, Math.min(config.maxPositions, LENGTH), machine);
  const { written, scored } = speed;
  const found = `at most ${rounded(written)} tokens/s written, ${rounded(scored)} of a finished text scored with Adv. Pert. (estimate)`;
  if (written >= SLOW) return ok('speed', found, name, speed);
  return bad('warning', 'speed', found, 'a smaller model, or one of fewer bits', name);
}

async function calibrationFinding(
  name: string,
  model: ModelConfig,
  { calibration }: ModelFacts,
  folder: string,
): Promise<Finding> {
  const calibrate = `flinch calibrate --model ${shellWord(folder)}`;
  if (model.calibration !== undefined) {
    if (await readCalibration(model.calibration)) return ok('calibration', model.calibration, name);
    const remedy = `${calibrate} --output ${shellWord(model.calibration)}`;
    return bad('problem', 'calibration', `${model.calibration}: no such file`, remedy, name);
  }
  const ranks = 'risks are ranks among the scores so far';
  switch (calibration) {
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
    const location = `models.${name}.upstreams[${i}]`;
    return attempt(
      'upstream',
      () => upstreamFinding(name, config, i, credentialsOf(upstream, env, location)),
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
  const { first_byte_s, idle_s } = config.timeouts;
  const timeouts = {
    first_byte_s: Math.min(first_byte_s, PATIENCE_S),
    idle_s: Math.min(idle_s, PATIENCE_S),
  };
  const server = new UpstreamServer({ url, model, ...credentials, timeouts });
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
  const logprobsText =
    logprobs === null ? 'no log-probabilities' : `log-probabilities with ${logprobs} alternatives`;
  return `answers; ${logprobsText}; ${IDS[tokenIds]}; ${RESUMES[resume]}`;
}
