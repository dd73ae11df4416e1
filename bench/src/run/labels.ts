import { UsageError } from 'flinch/internals';
import type { LocatedRecord } from '../records/records.js';
import type { RolloutSettings, RunSettings } from '../records/run-settings.js';
import { comesLabelled, type Suite } from '../suites/suite.js';
import { suites } from '../suites/suites.js';
import type { RolloutOptions, RunOptions } from './run-options.js';
import { type UpstreamOptions, upstreamOptions } from './writer/upstream-client.js';

/** Source of the first wrong steps of a run: that of the suite, unless `--label` names another. */
export const labelledBy = (
  { labelledBy }: Pick<Suite, 'labelledBy'>,
  { label }: Pick<RunSettings, 'label'>,
): LocatedRecord['by'] => label?.by ?? labelledBy;

/** The server of `--completer`; `null` without one. @throws UsageError for options that do not go together */
export const completerOptions = ({ completer, completerModel }: RolloutOptions): UpstreamOptions | null =>
  upstreamOptions('--completer', completer, completerModel);

/** The server that writes; `null` without one. @throws UsageError for options that do not go together */
export const writingServer = ({ upstream, upstreamModel }: RunOptions): UpstreamOptions | null =>
  upstreamOptions('--upstream', upstream, upstreamModel);

/** The server that goes on with responses: that of `--completer`, or else the one that writes; `null` for the engine. */
export const completingServer = (options: RunOptions): UpstreamOptions | null =>
  completerOptions(options) ?? writingServer(options);

/** Sampling temperature of completions. */
const TEMPERATURE = 0.7;

export const rolloutSettings = (
  { rollouts }: RolloutOptions,
  server: UpstreamOptions | null,
): RolloutSettings => ({
  by: 'rollouts',
  rollouts,
  temperature: TEMPERATURE,
  completer: server?.model ?? null,
});

/**
 * Settings of the labels that a run records; nothing if they are those of the suite.
 * @throws UsageError for options that do not go together
 */
export function labelSettings(options: RunOptions): Pick<RunSettings, 'label'> {
  const { suite, label } = options;
  const { judged, labelledBy } = suites[suite];
  if (label !== 'rollouts' && completerOptions(options))
    throw new UsageError('--label: must be rollouts with --completer');
  if (label === undefined || label === labelledBy) return {};
  if (judged === 'claims') throw new UsageError(`--label: ${suite} has claims in place of steps`);
  if (comesLabelled(suite)) throw new UsageError(`--label: ${suite} has labels of people`);
  if (label === 'judge') return { label: { by: 'judge' } };
  return { label: rolloutSettings(options, completingServer(options)) };
}
