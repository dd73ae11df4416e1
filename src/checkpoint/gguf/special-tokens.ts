import { show } from '../../files/file-errors.js';
import { closingToken } from '../../tokenizer/template-tokens.js';

/** Values of `token_type`. */
export const [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE] = [1, 2, 3, 4, 5, 6] as const;
const TYPES = ['UNDEFINED', 'NORMAL', 'UNKNOWN', 'CONTROL', 'USER_DEFINED', 'UNUSED', 'BYTE'];

/**
 * Ends that config.json states where they are CONTROL. Its bytes identify a model, so a name more here would part models
 * from their calibrations.
 */
export const STATED_ENDS: ReadonlySet<string> = new Set([
  ...['<|eot_id|>', '<|eom_id|>', '<|im_end|>', '<|end|>'],
  ...['<end_of_turn>', '<|endoftext|>', '<|end_of_text|>'],
]);

/**
 * Tokens that end an answer whatever the file says of them. Source: llama.cpp, src/llama-vocab.cpp, `special_eog_ids`,
 * with the names by which it finds EOT, EOM, FIM_PAD, FIM_REP and FIM_SEP.
 */
const ENDS: ReadonlySet<string> = new Set([
  ...STATED_ENDS,
  ...['<|return|>', '<|call|>', '<|flush|>', '<|calls|>', '</s>', '<eos>'],
  ...['<EOT>', '_<EOT>', '[EOT]', '[EOS]'],
  ...['<end_of_utterance>', '<turn|>', '<|tool_response>', '<｜end▁of▁sentence｜>', '[e~['],
  ...['<|fim_pad|>', '<fim-pad>', '<fim_pad>', '<PAD>', '[PAD]', '<|file_sep|>'],
  ...['<|fim_repo|>', '<|repo_name|>', '<fim-repo>', '<REPO>', '<reponame>'],
]);

export interface TypedTokens {
  readonly ids: ReadonlyMap<string, number>;
  /** One for each token. */
  readonly types: readonly number[];
  readonly merges: readonly (readonly [string, string])[];
}

export interface SpecialTokens {
  readonly endIds: readonly number[];
  /** Tokens of a type for ordinary text that the template writes as one. */
  readonly marks: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Special tokens of a file by what they are, whatever their type: a token of several characters that no merge makes
 * never comes of text, so where a template writes it, it means the token.
 *
 * @param stated ids that the file says end a text or a turn
 * @param template conversations as the chat template writes them, and its sources
 */
export function specialTokens(
  { ids, types, merges }: TypedTokens,
  stated: readonly number[],
  {
    conversations,
    sources,
  }: { readonly conversations: readonly string[]; readonly sources: readonly string[] },
): SpecialTokens {
  const made = new Set(merges.map(([left, right]) => left + right));
  const declared = (id: number) => [UNKNOWN, CONTROL, USER_DEFINED].some((type) => type === types[id]);
  const whole = [...ids].filter(
    ([token, id]) => token.length > 1 && types[id] !== BYTE && (declared(id) || !made.has(token)),
  );
  const closing = closingToken(
    conversations,
    whole.map(([token]) => token),
  );
  const has = (...names: readonly string[]): boolean => names.some((name) => ids.has(name));
  const noEnds = [
    // In Harmony's formats it closes a part of an answer.
    ...(has('<|call|>', '<|calls|>') && has('<|return|>', '<|flush|>') ? ['<|end|>'] : []),
    ...(has('<|tool_response>') ? ['</s>'] : []),
  ];
  const ends = [...ids].filter(
    ([token, id]) => (stated.includes(id) || ENDS.has(token) || token === closing) && !noEnds.includes(token),
  );
  const endIds = ends.map(([, id]) => id);
  const text = [...conversations, ...sources].join('\n');
  const marks = whole.filter(([token, id]) => !declared(id) && !endIds.includes(id) && text.includes(token));
  const named = ([token, id]: readonly [string, number]) =>
    `${show(token)} (${id}, ${TYPES[types[id] ?? 0] ?? types[id]})`;
  const warningsOf = (tokens: typeof ends, what: string) =>
    tokens.length === 0
      ? []
      : [`${tokens.map(named).join(', ')}: ${what}, though the type of the token is not CONTROL`];
  return {
    endIds: [...new Set([...stated.filter((id) => endIds.includes(id)), ...endIds])],
    marks: marks.map(([token]) => token),
    warnings: [
      ...warningsOf(
        ends.filter(([, id]) => types[id] !== CONTROL && types[id] !== UNKNOWN),
        'ends an answer',
      ),
      ...warningsOf(marks, 'is one token where the chat template writes it'),
    ],
  };
}
