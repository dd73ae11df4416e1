/** The words of flinch, the same on the page, in the API and in docs/concepts.md. */
export const GLOSSARY: readonly { readonly word: string; readonly meaning: string }[] = [
  { word: 'method', meaning: 'how a score is computed, such as Adv. Pert., NLL, entropy or margin' },
  { word: 'score', meaning: 'the number that a method gives: the higher, the less certain was the model' },
  {
    word: 'step',
    meaning:
      'a line or a sentence of an answer. Its score adds up those of its tokens; numbers and names count more, and the first step half',
  },
  { word: 'ordinary', meaning: 'a text in the calibration, with which new scores are compared' },
  {
    word: 'risk',
    meaning:
      'how unusual a score is: the share of ordinary tokens or steps that score lower, from 0 to 1. Steps with a digit are compared with such steps. The page writes 0.97 as “higher than 97 % of ordinary steps”',
  },
  {
    word: 'rate',
    meaning: 'the share of ordinary steps or answers that may be flagged: the false-alarm rate',
  },
  { word: 'flagged', meaning: 'the risk is at least 1 − rate, the threshold' },
  {
    word: 'action',
    meaning:
      'what happens to a flagged step (annotate, stop or rollback) or to a doubtful answer (escalate or vote)',
  },
  { word: 'rollback', meaning: 'the model writes a flagged step again' },
  { word: 'verdict', meaning: 'whether a whole answer is flagged' },
];
