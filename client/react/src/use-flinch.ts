import { useMemo } from 'react';
import { type MessagePart, type ScoredText, scoredTexts } from './message-answers.js';

/**
 * Scored text of each part of a message from `useChat`, by its index among the parts; `null` for a part that is not
 * text.
 *
 * @example
 * const texts = useFlinch(message);
 * return message.parts.map((part, i) => (texts[i] ? <FlaggedText key={i} {...texts[i]} /> : null));
 */
export function useFlinch({
  parts,
}: {
  readonly parts: readonly MessagePart[];
}): readonly (ScoredText | null)[] {
  return useMemo(() => scoredTexts(parts), [parts]);
}
