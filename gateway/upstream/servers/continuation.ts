import type { UpstreamPiece, UpstreamRequest, UpstreamResponse } from '../upstream.js';

export interface ContinuationRequest {
  readonly prefix: NonNullable<UpstreamRequest['prefix']>;
  /** Tokens that are left, if the request has a limit. */
  readonly room: number;
  readonly temperature: number | undefined;
  readonly seed: number;
}

/** Request that continues a text in another way. */
export function continuationOf(
  request: UpstreamRequest,
  { prefix, room, temperature, seed }: ContinuationRequest,
): UpstreamRequest {
  return {
    ...request,
    sampling: {
      ...request.sampling,
      // Servers differ in which seeds they take; all take those of 31 bits.
      seed: seed >>> 1,
      ...(temperature !== undefined && { temperature }),
    },
    ...(request.maxTokens !== undefined && { maxTokens: room }),
    // An empty message would be one that has ended.
    ...((prefix.text !== '' || prefix.ids?.length) && { prefix }),
  };
}

/**
 * A continuation that ends also with a stop string that has begun in the text before it: servers look for them in what
 * they write. Nothing of the stop string is passed on; what of it stands in the text before stays.
 */
export function stoppedAcross(
  answer: UpstreamResponse,
  before: string,
  stops: readonly string[],
): UpstreamResponse {
  const rests = stops.flatMap((stop) =>
    Array.from({ length: stop.length - 1 }, (_, i) => i + 1)
      .filter((length) => before.endsWith(stop.slice(0, length)))
      .map((length) => stop.slice(length)),
  );
  if (rests.length === 0) return answer;
  let stopped = false;
  let held: UpstreamPiece[] | null = [];
  let text = '';
  /** Pieces that may be passed on: all, once it is known that no stop string continues. */
  const take = (pieces: readonly UpstreamPiece[]): readonly UpstreamPiece[] => {
    if (!held) return pieces;
    for (const [i, piece] of pieces.entries()) {
      held.push(piece);
      text += piece.text;
      stopped = rests.some((rest) => text.startsWith(rest));
      if (stopped) return [];
      if (rests.some((rest) => rest.startsWith(text))) continue;
      const passed = [...held, ...pieces.slice(i + 1)];
      held = null;
      return passed;
    }
    return [];
  };
  const read = async (): Promise<readonly UpstreamPiece[] | null> => {
    for (;;) {
      if (stopped) return null;
      const pieces = await answer.read();
      const passed: readonly UpstreamPiece[] = pieces ? take(pieces) : (held ?? []);
      if (!pieces) held = null;
      if (stopped) answer.cancel();
      if (passed.length > 0) return passed;
      if (!pieces) return null;
    }
  };
  return {
    promptIds: answer.promptIds,
    read,
    end: () => (stopped ? { finishReason: 'stop', usage: null } : answer.end()),
    cancel: () => answer.cancel(),
  };
}
