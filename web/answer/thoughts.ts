import type { RecordedEvent } from '../chats/recording.js';

/** What is known of a model's thoughts. */
export interface Thoughts {
  /** Whether the model still thinks. */
  readonly going: boolean;
  /** From the first of them to what came after them; `null` if not known. */
  readonly ms: number | null;
  /** Steps that were flagged. */
  readonly flagged: number;
  readonly scored: boolean;
}

export function thoughtsWords({ going, ms, flagged, scored }: Thoughts): string {
  const seconds = Math.round((ms ?? 0) / 1000);
  const time = going || seconds === 0 ? '' : ` for ${seconds} s`;
  const doubts = flagged === 0 ? '' : `, ${flagged} doubtful ${flagged === 1 ? 'step' : 'steps'}`;
  return `${going ? 'Thinking' : 'Thought'}${time}${doubts}${scored ? '' : ', not scored'}`;
}

/** Characters at the beginning of a text that are thoughts; a chat template may have written their first mark. */
export function thoughtsLength(text: string): number {
  if (!/^\s*<think(ing)?>/.test(text)) {
    const end = /^<\/think(?:ing)?>[ \t]*$/m.exec(text);
    return end && !text.slice(0, end.index).includes('<think') ? end.index + end[0].length : 0;
  }
  const end = /<\/think(?:ing)?>/.exec(text);
  return end ? end.index + end[0].length : text.length;
}

/** Reasoning that an upstream sent without its tokens. */
export interface UnscoredReasoning {
  readonly text: string;
  readonly ms: number;
}

/** `null` if there is none. */
export function unscoredReasoning(events: readonly RecordedEvent[]): UnscoredReasoning | null {
  let text = '';
  let from = 0;
  let to: number | null = null;
  for (const { atMs, event } of events) {
    const isVoid =
      (event.type === 'generation.escalated' && event.failed === null) ||
      (event.type === 'generation.voted' && event.replaced);
    if (isVoid) [text, to] = ['', null];
    if (event.type === 'upstream.delta' && event.unscored.includes('reasoning')) {
      if (text === '') from = atMs;
      text += reasoningIn(event.chunk);
      to = null;
    } else if (event.type === 'token.delta') to ??= atMs;
  }
  return text === '' ? null : { text, ms: (to ?? events.at(-1)?.atMs ?? from) - from };
}

/** As servers name it; some say the same under two names. */
function reasoningIn(chunk: Readonly<Record<string, unknown>>): string {
  const delta = field(list(chunk.choices)[0], 'delta');
  const said = [field(delta, 'reasoning'), field(delta, 'reasoning_content')].find(
    (value) => typeof value === 'string',
  );
  const parts = list(field(delta, 'content')).map((part) => field(part, 'thinking'));
  return `${said ?? ''}${parts.flatMap(textsOf).join('')}`;
}

const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.flatMap((each) => textsOf(field(each, 'text'))) : [];
};

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
