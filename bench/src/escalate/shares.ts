import { InvalidArgumentError } from 'commander';

/** Reads percentages such as `10,25` as shares. */
export function parseShares(text: string): number[] {
  return text.split(',').map((each) => {
    const share = Number(each) / 100;
    if (each.trim() !== '' && share > 0 && share < 1) return share;
    throw new InvalidArgumentError(`"${each}" is not a percentage above 0 and below 100.`);
  });
}
