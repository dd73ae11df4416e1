import { ApiError } from '../../errors/api-error.js';

/** The server's tokens are not the scorer's: they have other vocabularies, so nothing it says can be scored. */
export class VocabularyMismatch extends ApiError {
  constructor(problem: string) {
    super('scorer_mismatch', `the scorer's vocabulary differs from the upstream's: ${problem}`);
    this.name = 'VocabularyMismatch';
  }
}
