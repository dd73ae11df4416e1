import { ApiError } from '../../errors/api-error.js';

/** The server's model has read what the scorer does not see. */
export class HiddenReasoning extends ApiError {
  constructor() {
    super(
      502,
      'scorer_mismatch',
      "the upstream separates its model's reasoning from the text, so the scorer cannot score what follows; make it keep the reasoning in the text, or disable the guard",
    );
    this.name = 'HiddenReasoning';
  }
}

/** The server's tokens are not the scorer's: they have other vocabularies, so nothing it says can be scored. */
export class VocabularyMismatch extends ApiError {
  constructor(problem: string) {
    super(502, 'scorer_mismatch', `the scorer's vocabulary differs from the upstream's: ${problem}`);
    this.name = 'VocabularyMismatch';
  }
}
