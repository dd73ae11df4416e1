import { ApiError } from '../errors/api-error.js';

const LOST = {
  taken_over: 'the generation was resumed elsewhere',
  owner_lost: 'the process that wrote this response is gone; there is no more of it: ask again',
  state_unavailable: 'the state that gateways share (Redis) cannot be used',
  not_recovered: 'the rest of the response is no longer kept',
} as const;

/** Why a generation is read no more, though it may go on. */
export type LostCode = keyof typeof LOST;

export const lostError = (code: LostCode): ApiError => new ApiError(code, LOST[code]);
