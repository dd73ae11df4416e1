/** The fencing number of a generation that its gateway never lost. Another gateway that ends it changes the number. */
export const FIRST_FENCE = '1';
