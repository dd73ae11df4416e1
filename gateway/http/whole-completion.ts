import type {
  DoneEvent,
  GuardEvent,
  ScoreEvent,
  TokenEvent,
  UpstreamEvent,
} from '../../src/stream/events.js';
import {
  eventFields,
  usageByModelFields,
  usageFields,
  type Vocabulary,
  verdictFields,
} from '../../src/stream/wire.js';
import { asObject, type Json, listOf } from '../upstream/wire/wire-json.js';
import { type AssembledChoice, Assembly } from './assemble.js';
import { type ChoiceForm, charactersOf } from './choice-form.js';
import { GuardWarnings } from './guard-warnings.js';
import type { SaidGuard } from './said-guard.js';
import { logprobEntry, scoredToken } from './token-entries.js';
import { jsonParts, WrittenItems, WrittenJson, WrittenLists } from './written-json.js';

export interface WholeOptions {
  readonly id: string;
  readonly model: string;
  readonly vocabulary: Vocabulary;
  readonly guard: SaidGuard;
  readonly form: ChoiceForm;
  /** Whether the client asked for OpenAI's `logprobs`. */
  readonly logprobs: boolean;
}

/** Lists in the field `flinch` of a whole answer, by the type of their events. */
const LISTS: Readonly<Record<string, string>> = {
  'step.done': 'steps',
  'step.flagged': 'flagged',
  'rollback.done': 'rollbacks',
  'scorer.mismatch': 'mismatches',
  'generation.escalated': 'escalations',
  'generation.voted': 'votes',
};

/** An event as the field `flinch` has it, in a chunk and in a whole answer alike. */
export function findingFields(event: GuardEvent, vocabulary: Vocabulary) {
  if (event.type !== 'generation.escalated') return eventFields(event, vocabulary);
  // The settings of the other model are for a client that shows both answers.
  const { guard: _, ...escalated } = event;
  return escalated;
}

/**
 * A completion in OpenAI's shapes as a whole, with flinch's fields beside `choices`. Events are written to
 * JSON as they come, which avoids a delay at the end of a long one. As for `Completion`, they are those of a
 * guard that retracts nothing, or that holds back what it may retract.
 */
export class WholeCompletion {
  readonly #options: WholeOptions;
  readonly #guard: GuardWarnings;
  readonly #created = Math.floor(Date.now() / 1000);
  readonly #assembly = new Assembly();
  #text = '';
  /** Log-probabilities of the first choice, in the order in which it was written. */
  readonly #logprobs = new WrittenLists();
  /** Characters of the texts of these log-probabilities. */
  #characters = 0;
  readonly #tokens = new WrittenItems();
  /** Tokens from the first on of which scores are to come, by index; they are written with all of them. */
  readonly #waiting = new Map<
    number,
    { readonly token: TokenEvent; json: string | null; isWhole: boolean }
  >();
  readonly #lists = new Map<string, WrittenItems>(
    Object.values(LISTS).map((name) => [name, new WrittenItems()]),
  );
  #done: DoneEvent | null = null;

  constructor(options: WholeOptions) {
    this.#options = options;
    this.#guard = new GuardWarnings(options.guard);
  }

  add(event: GuardEvent): void {
    if (event.type === 'token.delta') this.#addToken(event);
    else if (event.type === 'score.delta') this.#addScore(event);
    else if (event.type === 'upstream.delta') this.#addPassed(event);
    else if (event.type === 'generation.done') this.#done = event;
    else
      this.#lists
        .get(LISTS[event.type] ?? '')
        ?.push(JSON.stringify(findingFields(event, this.#options.vocabulary)));
  }

  /** All of it, in parts. */
  json(): string[] {
    const { id, model, form, logprobs } = this.#options;
    const done = this.#done;
    const [first, ...others] = this.#choices();
    return jsonParts({
      ...this.#assembly.fields,
      id,
      object: form.objects.whole,
      created: this.#created,
      model,
      choices: [
        {
          ...form.whole(first, this.#text),
          index: 0,
          logprobs: logprobs ? this.#logprobsOfFirst() : null,
          finish_reason: done?.finishReason ?? null,
        },
        ...others.map((choice) => form.whole(choice, form.textOf(choice))),
      ],
      ...(done && { usage: { ...this.#assembly.usage, ...usageFields(done.usage) } }),
      flinch: this.flinch(),
    });
  }

  /** The field of that name. */
  flinch(): WrittenJson {
    const { enabled } = this.#options.guard;
    for (const { token, json } of this.#waiting.values()) this.#tokens.push(json ?? this.#written(token));
    this.#waiting.clear();
    const lists = [...this.#lists].map(([name, { all }]) => [name, all]);
    const { verdict } = this.#done ?? {};
    const fields = {
      guard: this.#guard.inForce,
      tokens: this.#tokens.all,
      ...(enabled && Object.fromEntries(lists)),
      ...(verdict && { verdict: verdictFields(verdict) }),
      ...(this.#done && usageByModelFields(this.#done)),
    };
    return new WrittenJson(jsonParts(fields));
  }

  #addToken(token: TokenEvent): void {
    if (this.#options.guard.enabled) this.#waiting.set(token.index, { token, json: null, isWhole: false });
    else this.#tokens.push(this.#written(token));
    // Other parts are in the upstream's events beside the text.
    if (token.part) return;
    this.#text += token.text;
    const { form, logprobs, vocabulary } = this.#options;
    if (!logprobs) return;
    this.#logprobs.add(form.logprobs([logprobEntry(token, vocabulary)], this.#characters));
    this.#characters += charactersOf(token.text);
  }

  #addScore(score: ScoreEvent): void {
    const scored = this.#waiting.get(score.index);
    if (!scored) return;
    scored.json = this.#written(scored.token, score);
    scored.isWhole = !score.pending;
    for (const [index, { json, isWhole }] of this.#waiting) {
      if (json === null || !isWhole) break;
      this.#tokens.push(json);
      this.#waiting.delete(index);
    }
  }

  #written(token: TokenEvent, score?: ScoreEvent): string {
    return JSON.stringify(scoredToken(token, this.#options.vocabulary, score));
  }

  /** An upstream that is flinch has its own `flinch`, which ours takes the place of. */
  #addPassed(event: UpstreamEvent): void {
    this.#guard.learn(event);
    const { flinch: _, choices, ...fields } = event.chunk;
    if (listOf(choices).some(hasParts)) this.#settleText();
    const { form, logprobs: asked } = this.#options;
    const wholeChoices = listOf(choices).map((each): Json => {
      const { logprobs, ...choice } = asObject(each) ?? {};
      if (!asked) return choice;
      if ((choice.index ?? 0) !== 0) return { ...choice, logprobs };
      const { content, refusal } = asObject(logprobs) ?? {};
      if (form.tellsBeside) this.#logprobs.add({ content: listOf(content), refusal: listOf(refusal) });
      return choice;
    });
    this.#assembly.add({ ...fields, choices: wholeChoices });
  }

  /** The text so far stands before parts of other types. */
  #settleText(): void {
    const delta = { content: this.#text };
    if (this.#text !== '') this.#assembly.add({ choices: [{ index: 0, delta }] });
    this.#text = '';
  }

  /** Choices, at least the first. */
  #choices(): readonly [AssembledChoice, ...AssembledChoice[]] {
    const { choices } = this.#assembly;
    const [first, ...others] = choices;
    return first?.index === 0 ? [first, ...others] : [NO_CHOICE, ...choices];
  }

  #logprobsOfFirst(): Json {
    const { form } = this.#options;
    const lists = { ...form.logprobs([], 0), ...this.#logprobs.whole };
    if (!form.tellsBeside) return lists;
    const [content, refusal] = [listOf(lists.content), listOf(lists.refusal)];
    const refused = refusal.length > 0;
    return { content: refused && content.length === 0 ? null : content, refusal: refused ? refusal : null };
  }
}

/** Whether it is of the first choice, with parts of a content. */
function hasParts(value: unknown): boolean {
  const { index = 0, delta } = asObject(value) ?? {};
  return index === 0 && Array.isArray(asObject(delta)?.content);
}

const NO_CHOICE: AssembledChoice = { index: 0, message: {}, logprobs: null, finish_reason: null };
