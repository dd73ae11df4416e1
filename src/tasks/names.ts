/** Who problems are about; the model knows no others. */
export const NAMES: readonly string[] =
  'Ada Ben Cleo Dan Eva Finn Gus Hana Ivan Jade Kofi Lena Maya Noor Omar Pia Quinn Rosa Sam Tara Uma Vera Walt Yara Zoe'.split(
    ' ',
  );
