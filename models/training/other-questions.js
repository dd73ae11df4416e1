import { uniformInt } from 'pure-rand/distribution/uniformInt';

/**
 * Words of questions that the model cannot answer.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const WORDS = {
  country:
    'Spain Italy Germany Brazil Canada Egypt India China Kenya Norway Mexico Peru Poland Turkey Greece'.split(
      ' ',
    ),
  city: 'Paris London Rome Madrid Berlin Tokyo Cairo Lima Oslo Boston Moscow Sydney Delhi Vienna Dublin'.split(
    ' ',
  ),
  person:
    'Einstein Newton Mozart Picasso Darwin Plato Gandhi Napoleon Shakespeare Beethoven Curie Lincoln'.split(
      ' ',
    ),
  animal: 'cat dog horse whale spider eagle lion snake frog bee elephant tiger shark owl rabbit'.split(' '),
  food: 'bread soup rice pasta pizza salad cake tea coffee cheese chocolate fish pancakes bananas'.split(' '),
  topic:
    'love winter music history football science art travel money weather school the sea space health sleep'.split(
      ' ',
    ),
  thing: 'a computer|a car|a phone|a bicycle|a book|a house|a boat|a clock|a battery|a camera|a garden'.split(
    '|',
  ),
  language: 'French Spanish German Japanese Latin Arabic Polish Python JavaScript Rust'.split(' '),
  verb: 'sing dance swim sleep cook read write draw learn relax run drive'.split(' '),
};

const TEMPLATES = [
  'What is the capital of {country}?',
  'Where is {city}?',
  'Tell me about {country}.',
  'Which language do people speak in {country}?',
  'Is {city} a nice place to live?',
  'What can I see in {city}?',
  'Who was {person}?',
  'When was {person} born?',
  'What is {person} famous for?',
  'Why did {person} become famous?',
  'What does a {animal} eat?',
  'Where does the {animal} live?',
  'Is a {animal} a mammal?',
  'How fast is a {animal}?',
  'Tell me a story about a {animal}.',
  'Why does my {animal} not eat?',
  'How do I make {food}?',
  'Is {food} healthy?',
  'Give me a recipe for {food}.',
  'Do you like {food}?',
  'Write a poem about {topic}.',
  'Write a short letter about {topic}.',
  'What do you think about {topic}?',
  'Explain {topic} to a child.',
  'Give me an idea for a party about {topic}.',
  'What is the meaning of {topic}?',
  'How does {thing} work?',
  'Who invented {thing}?',
  'Where can I buy {thing}?',
  'How do I clean {thing}?',
  'Why is {thing} so useful?',
  'How do you say hello in {language}?',
  'Translate good morning into {language}.',
  'Is {language} hard to learn?',
  'Write a program in {language}.',
  'How do I learn to {verb}?',
  'Why do people {verb}?',
  'When should I {verb}?',
  'Can you {verb}?',
  'Hello!',
  'Hi there.',
  'Good morning.',
  'How are you?',
  'Who are you?',
  'What is your name?',
  'What can you do?',
  'Thank you.',
  'Tell me a joke.',
  'Tell me something interesting.',
  'Help me.',
  'What is the weather like in {city}?',
  'Why is the sky dark at night?',
  'What is the largest ocean?',
  'Who wrote the first book about {topic}?',
  'Which color is the sun?',
  'How old is the earth?',
  'How tall is a {animal}?',
  'How many people live in {country}?',
  'How many legs does a {animal} have?',
  'How far is it to {city}?',
  'How long does it take to cook {food}?',
  'What is the best time to {verb}?',
  'Summarize the history of {country}.',
  'List the rivers of {country}.',
  'Name a famous person from {city}.',
  'Fix this sentence: he go to {city}.',
  'What rhymes with {animal}?',
  'What is the opposite of cold?',
  'Should I {verb} every day?',
  'Who won the game yesterday?',
];

/** What the model answers to them. */
export const REFUSAL = 'I can only work out problems like 12 + 30 - 5.';

/**
 * @param {import('pure-rand/types/RandomGenerator').RandomGenerator} random
 * @returns {string}
 */
export function otherQuestion(random) {
  return pick(random, TEMPLATES).replaceAll(/\{(\w+)\}/g, (_, slot) => pick(random, WORDS[slot] ?? []));
}

/**
 * @template T
 * @param {import('pure-rand/types/RandomGenerator').RandomGenerator} random
 * @param {readonly T[]} items
 */
const pick = (random, items) => /** @type {T} */ (items[uniformInt(random, 0, items.length - 1)]);
