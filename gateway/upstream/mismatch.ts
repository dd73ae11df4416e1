import { ApiError } from '../errors/api-error.js';

/** The server's model has read what the scorer does not see. */
export class HiddenReasoning extends ApiError {
  constructor() {
    super(
      502,
      'scorer_mismatch',
      'the upstream keeps the reasoning of its model apart from the text, so that the scorer cannot score what follows: have it leave the reasoning in the text, or disable the guard',
    );
    this.name = 'HiddenReasoning';
  }
}

/** The server's tokens are not the scorer's: they have other vocabularies, so nothing it says can be scored. */
export class VocabularyMismatch extends ApiError {
  constructor(problem: string) {
    super(502, 'scorer_mismatch', `the scorer does not have the upstream's vocabulary: ${problem}`);
    this.name = 'VocabularyMismatch';
  }
}
