/** Words before what they deny. */
const DENIES =
  /(?:(?<!\p{L})(?:not|isn't|wasn't|aren't|never|neither|nor|without|except|unlike|than|instead of|other than|no longer)|n't)\s+(?:(?:the|a|an|in|by|at|from|on|say|be|necessarily|called)\s+){0,2}["'(]*$/iu;
const DENIED =
  /^["')]*,?\s+(?:(?:is|was|are|were)\s+(?:not|wrong|incorrect|false|no\b|only|often|sometimes)|(?:isn't|wasn't|aren't|weren't)|(?:does|did|do)\s+not|(?:doesn't|didn't))/iu;
/** From here on a response corrects itself. */
export const CORRECTS =
  /(?<!\p{L})(?:wait|actually|correction|sorry|oops|or rather|on second thought|hmm)(?!\p{L})/iu;

/** Whether a text denies what stands in it from `start` up to `end`. */
export const isDenied = (text: string, start: number, end: number): boolean =>
  DENIES.test(text.slice(Math.max(0, start - 40), start)) || DENIED.test(text.slice(end, end + 40));

/** The clauses of a sentence that contrast with each other. */
export const clausesOf = (sentence: string): string[] =>
  sentence
    .split(
      /[,;]?\s+(?:but|although|though|while|whereas|however|yet|followed by|rather|instead)(?!\p{L}),?\s*|;\s+|\s+and\s+(?=(?:(?:he|she|it|they)\s+)?(?:later|died|lived|was|is|has|had|became|moved|lies|worked|went)(?!\p{L}))/iu,
    )
    .filter((clause) => /[\p{L}\p{N}]/u.test(clause));
