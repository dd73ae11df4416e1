import type { DoneEvent, Usage } from '../../src/stream/events.js';
import type { Provider } from '../answers/served-model.js';
import type { ErrorCode } from '../errors/codes.js';
import type { Exemplar } from './exposition.js';
import type { HistogramSeries } from './histogram.js';
import { type Instruments, OPERATION, OUTCOMES } from './instruments.js';

/** Series of one model. */
export class GenerationSeries {
  readonly #instruments: Instruments['generations'];
  readonly #model: string;
  readonly #labels: ReturnType<typeof labelsOf>;
  readonly #firstToken: HistogramSeries;
  readonly #perToken: HistogramSeries;
  readonly #input: HistogramSeries;
  readonly #output: HistogramSeries;

  constructor(instruments: Instruments['generations'], model: string, provider: Provider) {
    const labels = labelsOf(model, provider);
    this.#instruments = instruments;
    this.#model = model;
    this.#labels = labels;
    this.#firstToken = instruments.timeToFirstToken.series(labels);
    this.#perToken = instruments.timePerOutputToken.series(labels);
    this.#input = instruments.tokenUsage.series({ ...labels, gen_ai_token_type: 'input' });
    this.#output = instruments.tokenUsage.series({ ...labels, gen_ai_token_type: 'output' });
    instruments.requestDuration.series({ ...labels, error_type: '' });
    for (const outcome of OUTCOMES) instruments.generations.inc({ model, outcome }, 0);
    instruments.generatedTokens.inc({ model }, 0);
  }

  firstToken(seconds: number, exemplar: Exemplar): void {
    this.#firstToken.observe(seconds, exemplar);
  }

  perToken(seconds: number, exemplar: Exemplar): void {
    this.#perToken.observe(seconds, exemplar);
  }

  done({ finishReason, usage }: DoneEvent, seconds: number, exemplar: Exemplar): void {
    this.#end(OUTCOMES.find((outcome) => outcome === finishReason) ?? 'other');
    this.#instruments.requestDuration.series({ ...this.#labels, error_type: '' }).observe(seconds, exemplar);
    this.#use(usage);
  }

  failed(code: ErrorCode, seconds: number, exemplar: Exemplar): void {
    this.#end('error');
    this.#instruments.requestDuration
      .series({ ...this.#labels, error_type: code })
      .observe(seconds, exemplar);
  }

  cancelled(): void {
    this.#end('cancelled');
  }

  #end(outcome: (typeof OUTCOMES)[number]): void {
    this.#instruments.generations.inc({ model: this.#model, outcome });
  }

  #use({ promptTokens, completionTokens, generatedTokens: all }: Usage): void {
    const generatedTokens = all ?? completionTokens;
    if (promptTokens !== null) this.#input.observe(promptTokens);
    if (completionTokens !== null) this.#output.observe(completionTokens);
    if (generatedTokens !== null)
      this.#instruments.generatedTokens.inc({ model: this.#model }, generatedTokens);
  }
}

const labelsOf = (model: string, provider: Provider) => ({
  gen_ai_operation_name: OPERATION,
  gen_ai_provider_name: provider,
  gen_ai_request_model: model,
});
