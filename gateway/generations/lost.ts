import { ApiError } from '../errors/api-error.js';

const LOST = {
  taken_over: { status: 409, text: 'the generation was resumed elsewhere' },
  owner_lost: { status: 500, text: 'the process that wrote this response is gone; there is no more of it' },
  state_unavailable: { status: 503, text: 'the state that gateways share (Redis) cannot be used' },
  not_recovered: { status: 410, text: 'the rest of the response is no longer kept' },
} as const;

/** Why a generation is read no more, though it may go on. */
export type LostCode = keyof typeof LOST;

export const lostError = (code: LostCode): ApiError => new ApiError(LOST[code].status, code, LOST[code].text);
