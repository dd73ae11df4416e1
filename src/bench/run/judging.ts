import { UsageError } from '../../cli/report.js';
import { Endpoint } from '../judge/endpoint.js';
import { endpointJudge, type Judge } from '../judge/judge.js';
import { PROMPTS_VERSION } from '../judge/prompts.js';
import type { RunRecords } from './run-folder.js';
import type { RunOptions } from './run-options.js';

export const PROMPTS = PROMPTS_VERSION;

/**
 * The judge that was asked for, whose answers are kept in the folder of the run; `null` without one.
 * @throws UsageError without a model
 */
export function openJudge(
  { suite, judge, judgeModel, judgeTemperature, judgeAccept }: RunOptions,
  answers: RunRecords['judge'],
): { readonly judge: Judge; readonly usage: () => string } | null {
  if (judge === undefined) return null;
  if (judgeModel === undefined) throw new UsageError('--judge-model: is needed beside --judge');
  const endpoint = new Endpoint(
    {
      baseUrl: judge,
      model: judgeModel,
      apiKey: process.env.FLINCH_JUDGE_KEY ?? null,
      temperature: judgeTemperature ?? null,
      timeoutMs: 300_000,
      retries: 5,
    },
    {
      get: (key) => answers.get(key),
      add: (key, answer) => void answers.add({ key, ...answer }),
    },
  );
  return {
    judge: endpointJudge(endpoint, suite === 'bbh' ? 'logic' : 'math', judgeAccept),
    usage: () => {
      const { requests, cached, promptTokens, completionTokens, unreadable } = endpoint.usage;
      return `judge: ${requests} requests (${promptTokens} tokens read, ${completionTokens} written), ${cached} from earlier, ${unreadable} unreadable`;
    },
  };
}
