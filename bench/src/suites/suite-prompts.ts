import type { BbhKind } from '../answers/bbh-answer.js';

/**
 * How the questions are asked. The paper does not say; these are ours, and a change of them is a change of the
 * benchmark.
 */
export const PROMPTS_VERSION = 1;

export const mathPrompt = (problem: string): string =>
  `${problem}\n\nLet's think step by step, and put your final answer within \\boxed{}.`;

export const gsm8kPrompt = mathPrompt;

const BBH_ANSWERS: Readonly<Record<BbhKind, string>> = {
  option: '"The answer is (X)." where (X) is the letter of the right option',
  yes_no: '"The answer is Yes." or "The answer is No."',
  valid_invalid: '"The answer is valid." or "The answer is invalid."',
};

export const bbhPrompt = (input: string, kind: BbhKind): string =>
  `${input}\n\nLet's think step by step, and finish with ${BBH_ANSWERS[kind]}.`;

/**
 * Prompt of the Graph-based Uncertainty repository; the paper's example follows its order of the entities.
 */
export const biographyPrompt = (entity: string): string => `Tell me a paragraph bio of ${entity}.\n`;
