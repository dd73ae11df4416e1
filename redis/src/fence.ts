/** The fencing number of a generation that its gateway never lost. Another gateway that takes it over changes the number. */
export const FIRST_FENCE = '1';
