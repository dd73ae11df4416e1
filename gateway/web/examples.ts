/** Questions of the kinds that the embedded model was trained on. */
export const EXAMPLES: readonly { readonly name: string; readonly question: string }[] = [
  {
    name: 'Word problem',
    question:
      'Maya has 11 stones. Then Maya sells 3. Maya finds 67 more. Then Maya buys 14 more. How many stones are there at the end?',
  },
  { name: 'Arithmetic', question: 'What is (47 - 12) * 3 + 8?' },
  {
    name: 'Shuffled objects',
    question:
      'Sam, Cleo and Eva each hold a ball. Sam has the brown ball. Cleo has the black ball. Eva has the red ball. Sam and Cleo swap. Eva swaps with Sam. What color does Cleo hold now?',
  },
  {
    name: 'Web of lies',
    question: 'Maya lies. Zoe says Maya tells the truth. Lena says Zoe lies. Does Lena tell the truth?',
  },
  {
    name: 'Navigate',
    question:
      'You stand at (0, 0) facing north. Walk 18 steps. Go 6 steps forward. Turn left. Go 4 steps forward. Where are you?',
  },
];
