import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkAnswer } from '#bench/suites/own/answer-checks.js';
import { ownSuite } from '#bench/suites/own/own.js';
import { type Questions, questionsOf } from '#bench/suites/own/own-problems.js';
import { readRows } from '#bench/suites/own/question-rows.js';
import { openTask, type Task } from '#bench/suites/own/task.js';
import { examplesOf } from '#bench/suites/own/worked-examples.js';
import { useFolder } from '../../support/cli.js';

const folder = useFolder();

type Said = { readonly check?: string; readonly columns?: Task['columns'] };

async function read(name: string, text: string | Uint8Array, said: Said = {}): Promise<Questions> {
  const file = folder.path(name);
  writeFileSync(file, text);
  const { check = 'rules', columns = {} } = said;
  const task = { ...openTask(file, check), columns };
  return questionsOf(await readRows(task.file, '--questions'), task);
}

const lines = (...rows: readonly object[]): string => rows.map((row) => JSON.stringify(row)).join('\n');
const QUESTION = { question: 'What is 2 + 2?', answer: 4 };

describe('a file of questions', () => {
  it('is a table with a line of names', async () => {
    const text =
      '\ufeffquestion,answer,group\n"Who wrote ""Faust""?\nOne word.",Goethe | Wolfgang,books\n\n2+2?,4,sums\n';
    const { problems, settings } = await read('a.csv', text);
    expect(settings).toEqual({ name: 'a.csv', check: 'kind', prompt: null, columns: {} });
    expect(problems.map(({ id, subset, question, row }) => [id, subset, question, row?.answers])).toEqual([
      ['row-1', 'books', 'Who wrote "Faust"?\nOne word.', ['Goethe', 'Wolfgang']],
      ['row-2', 'sums', '2+2?', ['4']],
    ]);
  });

  const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
  it.each([
    ['a.tsv', 'question\tanswer\nOne, or two?\t2\n', ['One, or two?', '2']],
    // Quotes within cells that are in none.
    ['a.csv', 'question,answer,response\nWhat is 5" in cm?,12.7,12.7\n', ['What is 5" in cm?', '12.7']],
    ['a.csv', 'question,answer\n "Faust" is whose?,x\n', ['"Faust" is whose?', 'x']],
    // Empty columns and rows, and names of rows, as spreadsheets, pandas and R write them.
    ['a.csv', '\nquestion,answer,response,,\n,,,,\nA?,2,2,,\nB?,3,3,,\n,,\n', ['A?', '2'], ['B?', '3']],
    ['a.csv', 'question,,answer\nA?,,2,,,\n', ['A?', '2']],
    ['a.csv', '"","question","answer"\n"1","A?",2\n', ['A?', '2']],
    // Other separators, line ends and encodings.
    ['a.csv', 'question;answer\n"A; b";1,5\n', ['A; b', '1,5']],
    ['a.csv', 'sep=;\r\nquestion;answer;x, y, z\r\nA;1;\r\n', ['A', '1']],
    ['a.csv', 'question,answer\rA?,2\rB?,3', ['A?', '2'], ['B?', '3']],
    ['a.csv', 'question,answer\r\nA?,2\nB?,3\r\n', ['A?', '2'], ['B?', '3']],
    ['a.csv', utf16('question\tanswer\r\nÄ?\t"2"\r\n'), ['Ä?', '"2"']],
    ['a.tsv', utf16('question\tanswer\n北?\t2\n').swap16(), ['北?', '2']],
    // TSV has no quotes, unless it shows that it does.
    ['a.tsv', 'question\tanswer\n"A" or b?\tx\n"C\tb"\n', ['"A" or b?', 'x'], ['"C', 'b"']],
    ['a.tsv', '"question"\t"answer"\n"A"\t2\n', ['A', '2']],
    ['a.tsv', 'question\tanswer\n"5"" pipe"\t2\n', ['5" pipe', '2']],
    ['a.tsv', 'question\tanswer\n"A\nb"\t2\n', ['A\nb', '2']],
    // Numbers keep their digits.
    ['a.jsonl', '{"question": "A \\" 1.0 ", "answer": 12345678901234567}', ['A " 1.0', '12345678901234567']],
    ['a.jsonl', '{"question": "A", "answer": 0.0000001}', ['A', '0.0000001']],
    ['a.json', '[{"question": "A", "answer": [1.10, 7, -0.50, 1e3]}]', ['A', '1.10 | 7 | -0.50 | 1000']],
  ])('as %s: %j is read', async (name, text, ...expected) => {
    const { problems } = await read(name, text);
    expect(problems.map(({ question, reference }) => [question, reference])).toEqual(expected);
  });

  it('has whole numbers also where they are written with a point', async () => {
    const { problems } = await read('a.jsonl', '{"question": "A", "steps": ["x", "y"], "first_wrong": 1.0}');
    expect(problems[0]!.given).toMatchObject({ firstWrong: 1 });
  });

  it('has choices with labels of their own, as ARC', async () => {
    const choices = { text: ['red', 'blue'], label: ['1', '2'] };
    const { problems } = await read('a.jsonl', lines({ question: 'x', choices, answer: '1' }));
    expect(problems[0]!.row).toMatchObject({ answers: ['A'], choices: ['red', 'blue'] });
  });

  it('is split at | in cells alone', async () => {
    const { problems } = await read('a.jsonl', lines({ question: 'x', answer: ['P(A|B)'] }));
    expect(problems[0]!.row!.answers).toEqual(['P(A|B)']);
    const { problems: cells } = await read('a.csv', 'question,answer\nx,^a|b$\n', { check: 'regex' });
    expect(cells[0]!.row!.answers).toEqual(['^a|b$']);
  });

  it('is checked by what each key is, or by the check of the row', async () => {
    const rows = lines(
      { ...QUESTION, choices: ['3', '4'] },
      QUESTION,
      { ...QUESTION, answer: 'Paris' },
      { ...QUESTION, answer: '[0-9]$', check: 'regex' },
    );
    const { problems, settings } = await read('a.jsonl', rows);
    const checks = problems.map((problem) => ownSuite(settings).check(problem, 'In Paris there are 4'));
    expect(checks.map((check) => [check?.kind, check?.correct])).toEqual([
      ['choice', true],
      ['number', true],
      ['name', true],
      [undefined, true],
    ]);
  });

  it('has columns with other names, also within others', async () => {
    const rows = lines({
      doc: { q: 'Is it?', n: 7 },
      target: ['yes', 'indeed'],
      resps: [['Yes.']],
      acc: 1.0,
    });
    const columns = {
      question: 'doc.q',
      answer: 'target',
      id: 'doc.n',
      response: 'resps.0.0',
      right: 'acc',
    };
    const { problems } = await read('a.jsonl', rows, { columns });
    expect(problems[0]).toMatchObject({
      id: '7',
      question: 'Is it?',
      given: { steps: ['Yes.'], whole: true },
      row: { answers: ['yes', 'indeed'], right: true },
    });
  });

  it('has responses with labels of their steps, as ProcessBench', async () => {
    const rows = [{ problem: 'Sum?', steps: ['One.', 'Two.'], label: 1, final_answer_correct: false }];
    const columns = { question: 'problem', first_wrong: 'label', right: 'final_answer_correct' };
    const { problems, settings } = await read('a.json', JSON.stringify(rows), { columns });
    expect(problems[0]!.given).toMatchObject({ steps: ['One.', 'Two.'], firstWrong: 1 });
    const suite = ownSuite(settings);
    expect(suite.check(problems[0]!, 'One.\n\nTwo.')).toMatchObject({ correct: false, by: 'labels' });
    expect(suite.locate(problems[0]!, 'One.\n\nTwo.')).toEqual([6, 10]);
  });

  it('is named by a task, whose check goes after that of the command', async () => {
    writeFileSync(folder.path('capitals.csv'), 'Frage,Antwort\nFrankreich?,Paris\n');
    const text =
      'questions: capitals.csv\nname: Capitals\ncheck: exact\ncolumns: {question: Frage, answer: Antwort}\n';
    writeFileSync(folder.path('task.yaml'), `${text}prompt: "{question} One word."\n`);
    const task = openTask(folder.path('task.yaml'), 'contains');
    const { problems, settings } = questionsOf(await readRows(task.file, '--questions'), task);
    expect(settings).toMatchObject({ name: 'Capitals', check: 'contains' });
    expect(ownSuite(settings).messages(problems[0]!)).toEqual([
      { role: 'user', content: 'Frankreich? One word.' },
    ]);
  });

  it.each([
    ['a.csv', 'question,answer\none,two,three\n', /a\.csv:2: cell 3 is in no column .* must be in quotes/],
    ['a.csv', 'question,answer,response\r\r\none,two\r\n', /a\.csv:3: has 2 cells, not 3/],
    ['a.csv', 'question,answer\n"a\nb",1\n"5" pipe",12\n', /a\.csv:4: a text follows the cell in quotes/],
    ['a.csv', 'question,answer\nx,y\n"What?,4\n', /a\.csv:3: the cell that begins with a quote has no other/],
    ['a.csv', 'question,,answer\nx,1,y\n', /a\.csv:2: cell 2 is in no column that has a name/],
    ['a.csv', 'question;answer\nx;y;z\n', /a\.csv:2: cell 3 .* with ";" in it/],
    ['a.csv', 'sep=;\nquestion;answer\nx\n', /a\.csv:3: has 1 cells, not 2/],
    ['a.tsv', 'question\tanswer\n"x\ty\tz\n', /a\.tsv:2: cell 3 /],
    ['a.csv', 'question,answer\nx,\0\n', /a\.csv:2: is not UTF-8 text; save/],
    ['a.csv', Buffer.from('question,answer\nKöln?,x\n', 'latin1'), /a\.csv:2: is not UTF-8 text; save/],
    ['a.csv', 'question,answer\n"One, or two?", "2"\n', /a\.csv:2: a space stands before the quote/],
    ['a.csv', '', /has no rows/],
    ['a.csv', 'question,question\n', /a\.csv:1: has two columns named "question"/],
    ['a.csv', 'frage,antwort\nx,y\n', /no column is named "question"; there are frage, antwort/],
    ['a.csv', 'question,answer\n', /has no rows/],
    ['a.jsonl', '{"question": "x"}', /no column is named "answer"/],
    ['a.jsonl', `${lines(QUESTION)}\n{`, /line 2: is not valid JSON/],
    [
      'a.jsonl',
      lines(QUESTION, { question: 'x' }),
      /1 of 2 rows cannot be used:\n {2}.*a\.jsonl:2: answer: is missing/,
    ],
    ['a.jsonl', lines({ ...QUESTION, choices: ['1', '2'] }), /:1: answer: "4" is none of the choices/],
    ['a.jsonl', lines({ ...QUESTION, right: true }), /:1: right: is about a response, which is missing/],
    [
      'a.jsonl',
      lines({ ...QUESTION, response: 'x', right: 'maybe' }),
      /:1: right: must be right, wrong or unsure/,
    ],
    ['a.jsonl', lines({ ...QUESTION, group: 'all' }), /:1: group: "all" is that of all rows/],
    [
      'a.jsonl',
      lines({ ...QUESTION, id: 1 }, { ...QUESTION, id: '1' }),
      /a\.jsonl:2: the id "1" is also that of .*a\.jsonl:1/,
    ],
    [
      'a.jsonl',
      lines({ messages: [{ role: 'assistant', content: 'x' }], answer: 'y' }),
      /messages: must end with/,
    ],
    ['a.jsonl', lines({ ...QUESTION, choices: 'only' }), /:1: choices\.text: Too small/],
    ['a.csv', 'question,answer\nx,Paris |\n', /:2: answer\.1: has an empty part/],
    [
      'a.jsonl',
      lines({ question: 'x', answer: '2', choices: ['1', '2', '3'] }),
      /"2" may be B or C, by text, letter or place/,
    ],
    ['a.csv', 'question,answer,response\nx,y,\n', /:2: response: is empty/],
    ['a.jsonl', lines({ ...QUESTION, steps: ['x'], first_wrong: true }), /:1: first_wrong: /],
    ['a.txt', 'x', /must end in one of \.csv, \.tsv/],
  ])('%s: %j is refused', async (name, text, message) => {
    await expect(read(name, text)).rejects.toThrow(message);
  });

  it.each([
    ['check: "command:rm"', /check: must be kind, .* or judge; only --check takes command:PROGRAM/],
    ['prompt: Answer.', /prompt: must contain \{question\}/],
    ['columns: {anwser: y}', /columns\.?.*: /],
    ['name: gsm8k', /name: is that of a suite/],
    ['chck: exact', /Unrecognized key/],
    ['check: [', /task\.yaml: /],
  ])('whose task says %s is refused', (line, message) => {
    writeFileSync(folder.path('task.yaml'), `questions: a.csv\n${line}\n`);
    expect(() => openTask(folder.path('task.yaml'), 'rules')).toThrow(message);
  });

  it.each([
    ['number', 'cinq', /"cinq" is no number/],
    ['exact', '**', /"\*\*" has nothing to compare/],
    ['regex', '(', /answer: Invalid regular expression/],
    ['regex', '5(?! )', /a\.jsonl:1: answer: .*for RE2: .*\(\?!/],
  ])('whose answers do not fit %s is refused', async (check, answer, message) => {
    await expect(read('a.jsonl', lines({ question: 'x', answer }), { check })).rejects.toThrow(message);
  });

  it('is not checked by what is no rule', () => {
    const message =
      /--check: must be judge, kind, number, yes-no, choice, date, list, name, text, contains, exact, regex or command:PROGRAM, not "sounds"/;
    expect(() => openTask('a.csv', 'sounds')).toThrow(message);
  });
});

describe('a drawn sample', () => {
  const rows = lines(...Array.from({ length: 40 }, (_, i) => ({ question: `${i}?`, answer: i })));
  const ids = async ({ problems, settings }: Questions, seed: number): Promise<string[]> =>
    (await ownSuite(settings, problems).load({ folder: null, subsets: null, seed, count: 0 })).map(
      ({ id }) => id,
    );

  it('is not the first rows, and depends on the seed alone', async () => {
    const questions = await read('a.jsonl', rows);
    const drawn = await ids(questions, 1);
    expect(drawn.slice(0, 10)).not.toEqual(questions.problems.slice(0, 10).map(({ id }) => id));
    expect(drawn.toSorted()).toEqual(questions.problems.map(({ id }) => id).toSorted());
    expect(await ids(questions, 1)).toEqual(drawn);
    expect(await ids(questions, 2)).not.toEqual(drawn);
  });
});

describe('an answer', () => {
  it.each([
    ['exact', 'Paris.', ['paris'], true],
    ['exact', 'Let me think.\nThe answer is **Paris**.', ['Paris'], true],
    ['exact', 'It is not Paris', ['Paris'], false],
    ['exact', 'The answer is Paris.\nI hope this helps.', ['Paris'], true],
    ['exact', '5', ['5!'], false],
    ['exact', '-5', ['5'], false],
    ['contains', 'It is -5.', ['5'], false],
    ['contains', 'Between 2-5.', ['5'], null],
    ['kind', 'It is not Paris.', ['Paris'], false],
    ['exact', '<think>Rome?</think>Paris', ['Paris'], true],
    ['contains', '北京是首都', ['北京'], true],
    ['exact', 'C++', ['C'], false],
    ['number', 'So it is 1,000.0 in all.', ['1000'], true],
    ['number', 'So it is 1001.', ['1000'], false],
    ['number', 'None.', ['0'], false],
    ['contains', 'It is Paris, of course.', ['Rome', 'Paris'], true],
    ['contains', 'A Parisian.', ['Paris'], false],
    ['regex', 'On 3 May', ['^On \\d+ (May|June)$'], true],
    ['regex', 'on 3 May', ['^On'], false],
    ['regex', `answer is${' '.repeat(1e5)}x`, ['(?:answer(?: is)?[: ]*)*(.+?)\\s*\\.?\\s*=$'], false],
  ] as const)('by %s: %s', (rule, response, answers, correct) => {
    expect(checkAnswer(response, { question: '', answers, choices: null }, rule).correct).toBe(correct);
  });

  it.each([
    ['B', true],
    ['The answer is (B).', true],
    ['It is blue.', true],
    ['(A)', false],
  ])('among choices: %s', (response, correct) => {
    const key = { question: '', answers: ['B'], choices: ['red', 'blue'] };
    expect(checkAnswer(response, key, 'kind').correct).toBe(correct);
  });
});

describe('a question', () => {
  it('comes with its context, choices and earlier messages', async () => {
    const earlier = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
    ];
    const row = { context: 'It rains.', choices: { text: ['Yes', 'No'] }, answer: 'Yes' };
    const messages = [...earlier, { role: 'user', content: 'Is it wet?' }];
    const { problems, settings } = await read('a.jsonl', lines({ messages, ...row }));
    expect(problems[0]!.row!.answers).toEqual(['A']);
    expect(ownSuite(settings).messages(problems[0]!)).toEqual([
      ...earlier,
      {
        role: 'user',
        content: 'It rains.\n\nIs it wet?\n\n(A) Yes\n(B) No\n\nAnswer with the letter of the right choice.',
      },
    ]);
  });

  it('comes after worked examples, in the same words, as messages and as a text', async () => {
    const { problems, settings } = await read('a.jsonl', lines({ question: 'And 3 + 3?', answer: 6 }));
    const shown = folder.write('shots.csv', 'question,answer\nWhat is 2 + 2?,4\n');
    const examples = examplesOf(await readRows(shown, '--examples'), problems);
    const suite = ownSuite({ ...settings, prompt: '{question} Briefly.', examples });
    expect(suite.messages(problems[0]!)).toEqual([
      { role: 'user', content: 'What is 2 + 2? Briefly.' },
      { role: 'assistant', content: '4' },
      { role: 'user', content: 'And 3 + 3? Briefly.' },
    ]);
    expect(suite.completion!.prompt(problems[0]!)).toBe(
      'Question: What is 2 + 2? Briefly.\nAnswer: 4\n\nQuestion: And 3 + 3? Briefly.\nAnswer:',
    );
  });

  it.each([
    ['question,answer\nWhat is 2 + 2?,\n', /--examples: .*shots\.csv:2: answer: is empty/],
    ['question\nWhat is 2 + 2?\n', /shots\.csv:2: answer: /],
    ['question,answer\nAnd 3 + 3?,6\n', /shots\.csv:2: question: is one of --questions, too/],
  ])('is not shown with the examples %j', async (text, message) => {
    const rows = await readRows(folder.write('shots.csv', text), '--examples');
    expect(() => examplesOf(rows, [{ question: 'And 3 + 3?' }])).toThrow(message);
  });
});
