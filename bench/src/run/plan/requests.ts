import { askedIn, scoredIn } from '../../records/selection.js';
import type { Run } from '../run-context.js';
import { sampleKey } from '../run-folder.js';
import { questionOf } from '../stages/generate.js';
import type { Question } from '../writer/writer.js';
import { evenly, expectedWrong, supposed } from './planned-work.js';

/**
 * Next questions for an offline writer: the responses, as many as are expected to be needed; once all are
 * there the further ones. A question that is too long for the context is left out: its response is known.
 */
export function plannedRequests(run: Run): Question[] {
  const { suite, problems, isMine, settings, records, rule } = run;
  const known = supposed(run, ['generate', 'check', 'locate'], evenly(expectedWrong(run)));
  const responses = askedIn(suite, problems, known, rule)
    .filter((problem) => isMine(problem) && !problem.given && !records.responses.has(problem.id))
    .flatMap((problem) => {
      const { temperature, maxTokens } = settings;
      return questionOf(run, problem, { temperature, sample: 0, maxTokens }) ?? [];
    });
  if (responses.length > 0) return responses;
  const scored = scoredIn(suite, problems, records, rule);
  const numbers = Array.from({ length: settings.samples }, (_, i) => i + 1);
  return problems
    .filter((problem) => isMine(problem) && scored.has(problem.id))
    .flatMap((problem) =>
      numbers
        .filter((sample) => !records.samples.has(sampleKey({ id: problem.id, sample })))
        .flatMap((sample) => {
          const { sampleTemperature: temperature, maxTokens } = settings;
          return questionOf(run, problem, { temperature, sample, maxTokens }) ?? [];
        }),
    );
}

/** A line of the file of `--requests`, named as in OpenAI's and vLLM's requests. */
export const requestLine = ({
  id,
  sample,
  messages,
  promptIds,
  topP,
  maxTokens,
  ...rest
}: Question): string =>
  `${JSON.stringify({
    id,
    sample,
    messages,
    prompt_token_ids: promptIds,
    temperature: rest.temperature,
    top_p: topP,
    max_tokens: maxTokens,
    seed: rest.seed,
  })}\n`;
