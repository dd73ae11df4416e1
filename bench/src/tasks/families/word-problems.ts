/** Names of the people in problems. */
export const PEOPLE: readonly string[] = (
  'Ada Alex Amy Anna Ben Bob Cara Carl Cleo Dan David Ella Emma Eva Finn Gus Hana Henry Ivan Jack Jade James ' +
  'Jane John Julia Kate Kofi Lena Leo Lily Lisa Lucy Maria Mark Mary Max Maya Mia Nina Noah Noor Omar Paul ' +
  'Peter Pia Quinn Rosa Sam Sara Sue Tara Tim Tom Uma Vera Walt Will Yara Zoe'
).split(' ');

export const ITEMS: readonly string[] = (
  'apples balls bananas beads books cakes candies cards coins cookies cups eggs flowers marbles oranges pears ' +
  'pencils pens plates shells stamps stickers stones tickets toys'
).split(' ');

export const BOXES: readonly string[] = 'boxes bags baskets crates packs jars'.split(' ');

export const COLORS: readonly string[] = 'red blue green yellow black white pink orange purple brown'.split(
  ' ',
);
