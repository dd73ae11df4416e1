import { z } from 'zod';

/**
 * A list that others send, of which the length is checked before the items: zod checks every item, and keeps what is wrong
 * with each.
 */
export const listUpTo = <Item extends z.ZodType>(most: number, item: Item) =>
  z
    .custom<unknown>((list) => !Array.isArray(list) || list.length <= most, `has more than ${most} items`)
    .pipe(z.array(item));
