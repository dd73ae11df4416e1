import { Seam } from '../alignment/repeated-space.js';
import { TokenAligner } from '../alignment/token-aligner.js';
import type { UpstreamEnd, UpstreamPiece, UpstreamResponse } from '../upstream.js';
import { UpstreamError } from '../upstream-error.js';
import type { ChunkReader } from '../wire/chunk-reader.js';
import type { Chunk } from '../wire/chunks.js';
import type { Exchange } from '../wire/exchange.js';
import { asList, asObject } from '../wire/wire-json.js';

type Beside = NonNullable<UpstreamPiece['beside']>;

const UNMATCHED =
  "log-probabilities: the upstream's could not be matched with its text, or with some of it, which has none here";

export interface StreamedResponseOptions {
  readonly lags: boolean;
  readonly verbatim: boolean;
  /** What its events begin with. */
  readonly warnings: readonly string[];
  /** White space that the answer may begin with again. */
  readonly seam: string;
  readonly failed: (error: unknown) => void;
}

/** A response of a server, piece by piece as it arrives. */
export class StreamedResponse implements UpstreamResponse {
  promptIds: readonly number[] | null = null;
  readonly #exchange: Exchange;
  readonly #reader: ChunkReader;
  readonly #options: StreamedResponseOptions;
  readonly #aligner: TokenAligner;
  readonly #seam: Seam;
  #ahead: Promise<readonly Chunk[] | null> | null = null;
  #over = false;
  #cancelled = false;
  /** Fields of chunks beside the text. */
  readonly #said = new Map<string, unknown>();
  #hasLogprobs = false;
  readonly #warnings = new Set<string>();
  #finishReason: UpstreamEnd['finishReason'] = 'stop';
  #usage: UpstreamEnd['usage'] = null;

  constructor(exchange: Exchange, reader: ChunkReader, options: StreamedResponseOptions) {
    this.#exchange = exchange;
    this.#reader = reader;
    this.#options = options;
    this.#aligner = new TokenAligner({ lags: options.lags });
    this.#seam = new Seam(options.seam);
  }

  /**
   * The first byte is here, so that a failure is one of the answer, except for a refusal.
   * @throws UpstreamError `upstream_refused`
   */
  async readAhead(): Promise<void> {
    this.#ahead = this.#reader.read();
    try {
      this.promptIds = (await this.#ahead)?.[0]?.promptIds ?? null;
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.code !== 'upstream_refused') return;
      this.cancel();
      throw error;
    }
  }

  async read(): Promise<readonly UpstreamPiece[] | null> {
    try {
      const pieces: UpstreamPiece[] = this.#warned(this.#options.warnings);
      while (pieces.length === 0 && !this.#over) {
        const chunks = await this.#next();
        for (const chunk of chunks ?? []) this.#take(chunk, pieces);
        if (chunks) continue;
        this.#over = true;
        this.#exchange.cancel();
        for (const piece of this.#aligner.end()) for (const own of this.#seam.push(piece)) pieces.push(own);
      }
      return pieces.length > 0 ? pieces : null;
    } catch (error) {
      if (!this.#cancelled) this.#options.failed(error);
      this.#exchange.cancel();
      throw error;
    }
  }

  end(): UpstreamEnd {
    return { finishReason: this.#finishReason, usage: this.#usage };
  }

  cancel(): void {
    this.#cancelled = true;
    this.#exchange.cancel();
  }

  #take(chunk: Chunk, pieces: UpstreamPiece[]): void {
    this.#finishReason = chunk.finishReason ?? this.#finishReason;
    this.#usage = chunk.usage ?? this.#usage;
    if (this.#options.verbatim) {
      if (chunk.beside) pieces.push({ text: '', tokens: null, ids: null, beside: chunk.beside });
      return;
    }
    const aligned = this.#aligner.push(chunk);
    for (const piece of aligned) for (const own of this.#seam.push(piece)) pieces.push(own);
    this.#hasLogprobs ||= chunk.tokens?.some(({ logprob }) => logprob !== null) ?? false;
    if (this.#hasLogprobs && aligned.some(hasNoTokens)) pieces.push(...this.#warned([UNMATCHED]));
    const said = chunk.beside && this.#news(chunk.beside, chunk.exactly);
    if (!said) return;
    const areShown = !aligned.some(({ hidden }) => hidden);
    const beside = areShown ? withTokens(said, chunk) : said;
    pieces.push({ text: '', tokens: null, ids: null, beside });
  }

  /** Each warning once. */
  #warned(warnings: readonly string[]): UpstreamPiece[] {
    const news = warnings.filter((each) => !this.#warnings.has(each));
    for (const each of news) this.#warnings.add(each);
    const beside = { chunk: { choices: [] }, unscored: [], warnings: news };
    return news.length === 0 ? [] : [{ text: '', tokens: null, ids: null, beside }];
  }

  /** Removes values that were sent before: many servers repeat some fields in every chunk. */
  #news(plain: Beside, exactly: () => Beside | null = () => plain): Beside | null {
    const { choices: areShown, ...fields } = plain.chunk;
    const news = Object.entries(fields).filter(([name, value]) => this.#said.get(name) !== value);
    if (news.length === 0 && asList(areShown)?.length === 0) return null;
    for (const [name, value] of news) this.#said.set(name, value);
    const beside = exactly() ?? plain;
    const { choices } = beside.chunk;
    return {
      ...beside,
      chunk: { ...Object.fromEntries(news.map(([name]) => [name, beside.chunk[name]])), choices },
    };
  }

  #next(): Promise<readonly Chunk[] | null> {
    const ahead = this.#ahead;
    this.#ahead = null;
    return ahead ?? this.#reader.read();
  }
}

const hasNoTokens = ({ text, tokens }: UpstreamPiece): boolean => text !== '' && tokens === null;

/** Tokens of what it says are told: they are scored, and those of the text have log-probabilities of their own. */
function withTokens({ chunk, unscored }: Beside, { text }: Chunk): Beside {
  const choices = asList(chunk.choices)?.map((choice) => {
    const { logprobs, ...rest } = asObject(choice) ?? {};
    return logprobs === undefined || text === '' || (rest.index ?? 0) !== 0 ? choice : rest;
  });
  return {
    chunk: { ...chunk, ...(choices && { choices }) },
    unscored: unscored.filter((kind) => kind !== 'reasoning' && kind !== 'tool_calls'),
  };
}
