import { visible, visibleLine } from './visible.js';

/**
 * A checkpoint that cannot be used as it is: a file is missing, broken, or asks for something that is not
 * supported. `file` and `field` say where to look; `field` is empty where the whole file is at fault.
 *
 * The message reads `config.json: rope_scaling.rope_type: "yarn" is not supported (supported: default, ...)`.
 */
export class ModelError extends Error {
  readonly type = 'model';
  readonly file: string;
  readonly field: string;
  readonly problem: string;

  constructor(file: string, field: string, problem: string, options?: ErrorOptions) {
    const place = field === '' ? '' : `${shorten(field, 200)}: `;
    super(visibleLine(`${file}: ${place}${shorten(problem, 500)}`), options);
    this.name = 'ModelError';
    this.file = file;
    this.field = field;
    this.problem = problem;
  }
}

/** What to throw where a file cannot be read: a ModelError stays as it is. */
export const unreadable = (file: string, cause: unknown): ModelError =>
  cause instanceof ModelError
    ? cause
    : new ModelError(file, '', `cannot be read (${reasonOf(cause)})`, { cause });

/**
 * A chat template refused the messages with `raise_exception`, as when roles do not alternate. The checkpoint
 * is sound and the conversation is at fault, so a server answers 400 to this and 500 to a `ModelError`.
 */
export class TemplateError extends Error {
  readonly type = 'template';
  readonly file: string;
  /** Message of the template, word for word. */
  readonly reason: string;

  constructor(file: string, reason: string) {
    super(visibleLine(`${file}: chat_template: ${reason}`));
    this.name = 'TemplateError';
    this.file = file;
    this.reason = reason;
  }
}

/** Encoding a text, or rendering messages, takes more time or memory than it may. */
export class TextLimitError extends Error {
  readonly type = 'text_limit';

  constructor(message: string) {
    super(message);
    this.name = 'TextLimitError';
  }
}

/** Options or input that cannot be used; the message names which. */
export class UsageError extends Error {
  readonly type = 'usage';
}

/** Shows a value from a file in a message: as JSON without controls, at most 60 characters of it. */
export function show(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    return 'a value that nests too deep to be shown'; // `JSON.parse` goes deeper than `JSON.stringify`
  }
  return visible(shorten(text, 60));
}

/** Shortens values from a file, which may be of any length: a message stays readable, and a log small. */
function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 3)}...` : text;
}

/**
 * Position at which `JSON.parse` failed, for a message. The text there is not told: the file may be a link to
 * a secret one.
 */
export function placeOf(thrown: unknown): string {
  const place = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(reasonOf(thrown));
  return place ? ` (at position ${place[1]})` : '';
}

export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
