/** Height of a plot in its own units, whatever its size on the screen. */
export const HEIGHT = 100;

/** Room on the x axis grows in steps, so that the bars keep still between them. */
const STEP_TOKENS = 32;

/** Tokens that the x axis has room for; a finished answer fills it. */
export const axisRoom = (tokens: number, finished: boolean): number =>
  finished ? Math.max(tokens, STEP_TOKENS / 2) : Math.max(1, Math.ceil(tokens / STEP_TOKENS)) * STEP_TOKENS;

/** Token indices to label: multiples of 1, 2 or 5 times a power of ten, at most `most` of them. */
export function axisTicks(room: number, most = 8): number[] {
  let step = 1;
  for (let power = 1; ; power *= 10) {
    const found = [power, 2 * power, 5 * power].find((candidate) => room / candidate <= most);
    if (found) {
      step = found;
      break;
    }
  }
  return Array.from({ length: Math.ceil(room / step) }, (_, tick) => tick * step);
}
