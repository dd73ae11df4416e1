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

/** A list that others send, of which no more is checked than {@link upTo} leaves. */
export const listUpTo = <Item extends z.ZodType>(most: number, item: Item) =>
  z.preprocess(upTo(most, item), z.array(item).max(most, `has more than ${most} items`));
