/**
 * Version of the judge's prompts. They are in our own words: the paper's are not public (docs/design/evaluation.md,
 * section 7.3). Increase it when a word changes: it is part of a run's settings and of the key of a cached answer.
 */
export const PROMPTS_VERSION = 1;

export interface Judged {
  readonly question: string;
  /** `null` where it is not known: only steps can be judged then. */
  readonly reference: string | null;
  readonly response: string;
}

/** Prompt 1: is the final answer right? Answered as `{"same": boolean}`. */
export const checkPrompt = ({ question, reference, response }: Judged): string => `\
Here are a question, its correct answer, and a response to it.

<question>
${question}
</question>

<correct_answer>
${reference ?? ''}
</correct_answer>

<response>
${response}
</response>

Does the response end with the correct answer? Another form of the same value or choice is the same answer. The way to it does not matter. A response without a final answer does not have it.

Reply with JSON alone: {"same": true} or {"same": false}`;

/** Prompts 2 and 3: which steps are wrong? Answered in free text. */
export const analysePrompt = (kind: 'math' | 'logic', { question, reference, response }: Judged): string => `\
${reference === null ? 'Here are a question and a response to it with a mistake.' : 'Here are a question, its correct answer, and a response to it whose answer is wrong.'}

<question>
${question}
</question>
${reference === null ? '' : `\n<correct_answer>\n${reference}\n</correct_answer>\n`}
<response>
${response}
</response>

Go through the response sentence by sentence, in order. ${CHECK[kind]} Say of each sentence whether it is right, and of each wrong one why. A sentence that only follows from an earlier mistake is not a mistake of its own.`;

const CHECK = {
  math: 'Check each against the question and the sentences before it: what is assumed, the method, and every calculation.',
  logic:
    'Check each against the question and the sentences before it: whether what it states is given or follows, and whether anything was misread, left out or taken for granted.',
} as const;

/** Prompt 4: the first critical mistake, word for word. Answered as `{"step": string | null}`. */
export const extractPrompt = (response: string, analysis: string): string => `\
Here are a response to a question and an analysis of its mistakes.

<response>
${response}
</response>

<analysis>
${analysis}
</analysis>

According to the analysis, in which sentence of the response is the first critical mistake? Copy that sentence from the response word for word, as short as it can be and still a whole sentence.

Reply with JSON alone: {"step": "the sentence"}, or {"step": null} if the analysis finds no mistake.`;

/** A statement of a text, for FActScore. Answered as `{"claims": [{"claim": string, "words": string[]}]}`. */
export const claimsPrompt = (text: string, sentence: string): string => `\
Here is a text, and one sentence of it.

<text>
${text}
</text>

<sentence>
${sentence}
</sentence>

Break the sentence down into the smallest statements of fact that can be understood, and checked, on their own; write names instead of pronouns. For each say which words of the sentence it is read from, in their order, spelled as in the sentence.

Reply with JSON alone: {"claims": [{"claim": "...", "words": ["...", "..."]}]}. A sentence that states no fact has no claims.`;

/** Is a statement supported? Answered as `{"supported": boolean | null}`, null for what is no matter of fact. */
export const supportPrompt = (topic: string, claim: string, evidence: readonly string[]): string => `\
${evidence.length > 0 ? `Here are passages about ${topic}, and a statement.\n\n${evidence.map((passage) => `<passage>\n${passage}\n</passage>`).join('\n\n')}` : `Here is a statement about ${topic}.`}

<statement>
${claim}
</statement>

${evidence.length > 0 ? 'Do the passages, or else what you know, support the statement?' : 'Is the statement true, as far as you know?'}

Reply with JSON alone: {"supported": true}, {"supported": false}, or {"supported": null} if the statement is an opinion rather than a matter of fact.`;

/** All statements of a text, for Graph Uncertainty. Answered as `{"claims": string[]}`. */
export const decomposePrompt = (text: string): string => `\
Here is a text.

<text>
${text}
</text>

Break the text down into the smallest statements of fact that can be understood, and checked, on their own; write names instead of pronouns. Give each fact once.

Reply with JSON alone: {"claims": ["...", "..."]}. A text that states no fact has no claims.`;

/**
 * Prompt for the statements of one list that another does not contain. The answer is `{"new": number[]}`,
 * their numbers.
 */
export const unionPrompt = (known: readonly string[], others: readonly string[]): string => `\
Here are two lists of statements.

<known>
${numbered(known)}
</known>

<others>
${numbered(others)}
</others>

Go through the other statements one by one. Which of them are neither stated nor implied by any of the known statements?

Reply with JSON alone: the numbers of those other statements, as {"new": [1, 3]}. If all of them are known: {"new": []}.`;

const numbered = (statements: readonly string[]): string =>
  statements.map((statement, i) => `${i + 1}. ${statement}`).join('\n');

/** Does a response support a statement? What is true does not matter. Answered as `{"supported": boolean}`. */
export const entailPrompt = (response: string, claim: string): string => `\
Here are a text and a statement.

<text>
${response}
</text>

<claim>
${claim}
</claim>

Does the text support the statement? Go by the text alone, not by what you know.

Reply with JSON alone: {"supported": true} or {"supported": false}`;
