/**
 * Self-Consistency as an uncertainty (arXiv 2203.11171 by name): the share of further answers that do not agree with the
 * one in question. An answer that cannot be read agrees with none.
 * @param agrees whether each sample's answer is equivalent, at least one
 * @throws RangeError without samples
 */
export function selfConsistency(agrees: readonly boolean[]): number {
  if (agrees.length === 0) throw new RangeError('self-consistency: needs at least one sample');
  return 1 - agrees.filter(Boolean).length / agrees.length;
}
