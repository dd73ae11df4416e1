import type { z } from 'zod';

/**
 * Cuts a list off behind the first item that is wrong, or the first too many: zod looks at all of them and writes down
 * what is wrong with each, and a request has room for half a million.
 */
export const upTo = (most: number, item: z.ZodType) => (value: unknown) => {
  if (!Array.isArray(value)) return value;
  const items: unknown[] = value.slice(0, most + 1);
  const wrong = items.findIndex((each) => !item.safeParse(each).success);
  return wrong < 0 ? items : items.slice(0, wrong + 1);
};
