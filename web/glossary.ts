/** The ten words of flinch, the same on the page, in the API and in docs/concepts.md. */
export const GLOSSARY: readonly { readonly word: string; readonly meaning: string }[] = [
  { word: 'method', meaning: 'how a score is computed, such as Adv. Pert., NLL, entropy or margin' },
  { word: 'score', meaning: 'number of a method for a token: the higher, the less certain was the model' },
  { word: 'step', meaning: 'a line or a sentence of an answer, scored as a whole' },
  {
    word: 'risk',
    meaning: 'share of ordinary tokens or steps that score lower, 0 to 1; not the probability of an error',
  },
  {
    word: 'rate',
    meaning: 'share of ordinary steps, tokens or answers that are flagged: the false-alarm rate',
  },
  { word: 'flagged', meaning: 'the risk is at least 1 − rate, the threshold' },
  {
    word: 'action',
    meaning:
      'what happens to a flagged step: annotate, stop or rollback; or to a flagged answer: escalate or vote',
  },
  { word: 'rollback', meaning: 'a flagged step is taken back and sampled again' },
  { word: 'verdict', meaning: 'whether a whole answer is flagged, known once it is written' },
];
