import { z } from 'zod';

/**
 * Cuts a list off after its first wrong item, or after the first one too many. Zod checks every item and records what is
 * wrong with each, and what others send has room for half a million.
 */
export const upTo = (most: number, item: z.ZodType) => (value: unknown) => {
  if (!Array.isArray(value)) return value;
  const items: unknown[] = value.slice(0, most + 1);
  const wrong = items.findIndex((each) => !item.safeParse(each).success);
  return wrong < 0 ? items : items.slice(0, wrong + 1);
};

/**
 * A list that others send, of which the length is checked before the items: zod checks every item, and keeps what is wrong
 * with each.
 */
export const listUpTo = <Item extends z.ZodType>(most: number, item: Item) =>
  z
    .custom<unknown>((list) => !Array.isArray(list) || list.length <= most, `has more than ${most} items`)
    .pipe(z.array(item));
