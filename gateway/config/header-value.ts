/** Whether a header can have it as its value, and gives it back as it is: others never match, or are never sent. */
export const isHeaderValue = (value: string): boolean =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value);
