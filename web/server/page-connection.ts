import type { ConnectionState, FlinchError, GenerationRequest, ResumePoint } from 'flinch-client';
import { FlinchClient } from 'flinch-client';
import type { GenerationEvent } from 'flinch-client/protocol';
import type { Observable, Subscription } from 'rxjs';
import { calibrate, KeyNeeded, listModels, type Model } from './page-models.js';

export interface ServerListener {
  state(state: ConnectionState): void;
  models(models: readonly Model[]): void;
  /** Something went wrong that concerns no answer; in words. */
  problem(words: string): void;
  keyNeeded(): void;
}

/** How often the models are asked for: an upstream may go, and come back. */
const REFRESH_MS = 15_000;
/** The same while one of them is calibrated. */
const CALIBRATING_REFRESH_MS = 2000;

/** The server that the page came from: its models, and the connection, made once it lets the page in. */
export class Server {
  readonly #listener: ServerListener;
  #client: FlinchClient | null = null;
  #subscription: Subscription | null = null;
  #key: string | null = null;
  #refresh = 0;

  constructor(listener: ServerListener) {
    this.#listener = listener;
    window.addEventListener('online', () => this.#client?.connect());
    this.#refreshLater(REFRESH_MS);
  }

  /** Asks for the models, which tells whether the key will do, and connects. */
  async enter(key: string | null): Promise<void> {
    this.#key = key;
    this.#listener.state({ status: 'connecting' });
    let models: readonly Model[];
    try {
      models = await this.#list();
    } catch (error) {
      this.#listener.state({ status: 'idle' });
      if (error instanceof KeyNeeded) this.#listener.keyNeeded();
      else this.#listener.problem(error instanceof Error ? error.message : String(error));
      return;
    }
    this.#connect();
    this.#tell(models);
  }

  /** Asks for the models again. */
  async refresh(): Promise<void> {
    try {
      this.#tell(await this.#list());
    } catch {
      // Without a server there is no connection either, which the page says.
    }
  }

  /** Has a model calibrated while no request runs. */
  async calibrate(model: string): Promise<void> {
    try {
      await calibrate(this.#models, model, this.#key);
    } catch (error) {
      this.#listener.problem(error instanceof Error ? error.message : String(error));
    }
    await this.refresh();
  }

  /** Tries now. @returns false where the server has not been entered yet */
  retry(): boolean {
    this.#client?.connect();
    return this.#client !== null;
  }

  /** @throws Error before the server was entered */
  generate(request: GenerationRequest): Observable<GenerationEvent> {
    return this.#entered.generate(request);
  }

  /** @throws Error before the server was entered */
  resume(point: ResumePoint): Observable<GenerationEvent> {
    return this.#entered.resume(point);
  }

  /** Leaves an answer under way on the server. */
  detach(): void {
    this.#client?.detach();
  }

  get #entered(): FlinchClient {
    if (!this.#client) throw new Error('there is no connection yet');
    return this.#client;
  }

  get #models(): URL {
    return new URL('v1/models', document.baseURI);
  }

  #list(): Promise<Model[]> {
    return listModels(this.#models, this.#key);
  }

  #tell(models: readonly Model[]): void {
    this.#listener.models(models);
    if (models.some(({ calibration }) => calibration?.running)) this.#refreshLater(CALIBRATING_REFRESH_MS);
  }

  #refreshLater(ms: number): void {
    window.clearTimeout(this.#refresh);
    this.#refresh = window.setTimeout(() => {
      this.#refreshLater(REFRESH_MS);
      if (this.#client && document.visibilityState === 'visible') void this.refresh();
    }, ms);
  }

  #connect(): void {
    this.#subscription?.unsubscribe();
    this.#client?.close();
    const key = this.#key;
    const client = new FlinchClient({ url: document.baseURI, ...(key !== null && { apiKey: key }) });
    this.#client = client;
    this.#subscription = client.state.subscribe((state) => {
      this.#listener.state(state);
      if (state.status === 'closed' && state.error?.status === 401) this.#listener.keyNeeded();
    });
    this.#subscription.add(
      client.errors.subscribe((error: FlinchError) => this.#listener.problem(error.message)),
    );
    client.connect();
  }
}
