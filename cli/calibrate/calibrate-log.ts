import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { readFile, rm, truncate } from 'node:fs/promises';
import { z } from 'zod';
import type { CompleteRequest } from '../../src/engine/generation.js';
import { isMissing } from '../../src/files/json.js';
import { parseJsonText } from '../../src/files/json-text.js';
import type { ScoredAnswer } from '../../src/risk/score-collector.js';
import { METHODS } from '../../src/uncertainty/method-names.js';

const loggedAnswer = z.object({
  /** Hash of prompt and seed. */
  key: z.string(),
  tokens: z.array(z.object({ text: z.string() })),
  scores: z.array(z.object({ scores: z.partialRecord(z.enum(METHODS), z.number()) })),
  steps: z.array(z.object({ from: z.int(), to: z.int() })),
});

type LoggedAnswer = z.infer<typeof loggedAnswer>;

/**
 * The answers of a calibration that is under way, in a file beside it, whose name depends on the settings:
 * the same command continues an interrupted one.
 */
export class CalibrationLog {
  readonly file: string;
  readonly #answers: ReadonlyMap<string, LoggedAnswer>;

  private constructor(file: string, answers: readonly LoggedAnswer[]) {
    this.file = file;
    this.#answers = new Map(answers.map((answer) => [answer.key, answer]));
  }

  /**
   * Reads what an interrupted run has left, and cuts off a line that was being written.
   * @param settings all that the scores of an answer depend on, beside its prompt and its seed
   * @throws UsageError that names file, line and field
   */
  static async open(calibration: string, settings: object): Promise<CalibrationLog> {
    const file = `${calibration}.${digest(settings).slice(0, 8)}.answers`;
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return '';
      throw error;
    });
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const lines = whole.split('\n').slice(0, -1);
    const answers = lines.map((line, i) => parseJsonText(line, loggedAnswer, `${file}: line ${i + 1}`));
    if (whole !== text) await truncate(file, Buffer.byteLength(whole));
    return new CalibrationLog(file, answers);
  }

  get(request: CompleteRequest): LoggedAnswer | undefined {
    return this.#answers.get(keyOf(request));
  }

  add(request: CompleteRequest, { tokens, scores, steps }: ScoredAnswer): void {
    const answer: LoggedAnswer = {
      key: keyOf(request),
      tokens: tokens.map(({ text }) => ({ text })),
      scores: scores.map((token) => ({ scores: token.scores })),
      steps: steps.map(({ from, to }) => ({ from, to })),
    };
    appendFileSync(this.file, `${JSON.stringify(answer)}\n`);
  }

  async remove(): Promise<void> {
    await rm(this.file, { force: true });
  }
}

const keyOf = ({ promptIds, sampling: { seed } }: CompleteRequest): string => digest([seed, promptIds]);

const digest = (value: object): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
