import { ApiError } from '../errors/api-error.js';

/** How long clients that are turned away should wait, by when another process may be in our place. */
const RETRY_AFTER_S = 5;

/** Open, or draining: what runs may finish, nothing new starts. */
export class Lifecycle {
  #draining = false;

  get draining(): boolean {
    return this.#draining;
  }

  drain(): void {
    this.#draining = true;
  }

  /**
   * @param resumes whether the client has something under way to resume
   * @throws ApiError 503 `shutting_down` for others once draining
   */
  async checkOpen(resumes: () => boolean | Promise<boolean>): Promise<void> {
    if (!this.#draining || (await resumes())) return;
    const retry = { retryAfterSeconds: RETRY_AFTER_S };
    throw new ApiError('shutting_down', 'the gateway is shutting down', null, retry);
  }
}
