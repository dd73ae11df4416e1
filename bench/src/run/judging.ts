import { UsageError } from 'flinch/internals';
import { Endpoint } from '../judge/endpoint.js';
import { endpointJudge, type Judge } from '../judge/judge.js';
import { PROMPTS_VERSION } from '../judge/judge-prompts.js';
import { needsClaimGraph } from '../measures/measure.js';
import type { RunSettings } from '../records/run-settings.js';
import { comesLabelled } from '../suites/suite.js';
import { suites } from '../suites/suites.js';
import { labelledBy, labelSettings } from './labels.js';
import type { Run } from './run-context.js';
import type { RunRecords } from './run-folder.js';
import type { RunOptions } from './run-options.js';
import type { StageName } from './stage-names.js';
import { needsJudge as needsJudgeOfGraph } from './stages/graph-stage.js';
import { needsJudge } from './stages/locate.js';

/**
 * Settings of the judge that a run records; `null` without one.
 * @throws UsageError for options that do not go together, or a stage that a judge is missing for
 */
export function judgeSettings(options: RunOptions): RunSettings['judge'] {
  const { suite, stages, judge, judgeModel } = options;
  if (judge !== undefined) {
    if (!judgeModel) throw new UsageError('--judge-model: is required with --judge');
    return { model: judgeModel, prompts: PROMPTS_VERSION };
  }
  if (judgeModel !== undefined) throw new UsageError('--judge: is required with --judge-model');
  const { judged } = suites[suite];
  // Claims can come from a file.
  if (judged === 'claims') {
    if (stages.includes('graph') && needsClaimGraph(options.measures ?? [])) throw needsJudgeOfGraph();
    return null;
  }
  if (stages.includes('locate') && labelledBy(suites[suite], labelSettings(options)) === 'judge')
    throw new UsageError(needsJudge(suite));
  if (options.check === 'judge' && stages.includes('check') && !comesLabelled(suite))
    throw new UsageError('--judge: is required with --check judge');
  return null;
}

/** Whether a judge is asked in a stage; not where the suite, a program or a file tells. */
export function asksJudge(
  { suite, settings, claims }: Pick<Run, 'suite' | 'settings' | 'claims'>,
  stage: StageName,
): boolean {
  if (stage === 'claims') return claims?.by !== 'file';
  if (stage === 'graph') return true;
  if (stage === 'locate') return labelledBy(suite, settings) === 'judge';
  return stage === 'check' && settings.check === 'judge' && !comesLabelled(suite.name);
}

/** The judge of the options, whose answers are kept in the folder of the run; `null` without one. */
export function openJudge(
  options: RunOptions,
  answers: RunRecords['judge'],
): { readonly judge: Judge; readonly usage: () => string } | null {
  const settings = judgeSettings(options);
  if (options.judge === undefined || settings === null) return null;
  const { judge: baseUrl, suite } = options;
  const endpoint = new Endpoint(
    {
      baseUrl,
      model: settings.model,
      timeoutMs: 300_000,
      retries: 5,
      apiKey: process.env.FLINCH_JUDGE_KEY ?? null,
    },
    {
      get: (key) => answers.get(key),
      add: (key, answer) => void answers.add({ key, ...answer }),
    },
  );
  return {
    judge: endpointJudge(endpoint, suite === 'bbh' || suite === 'own' ? 'logic' : 'math'),
    usage: () => {
      const { requests, cached, promptTokens, completionTokens, unreadable } = endpoint.usage;
      return `judge: ${requests} requests (${promptTokens} tokens read, ${completionTokens} written), ${cached} cached, ${unreadable} unreadable`;
    },
  };
}
