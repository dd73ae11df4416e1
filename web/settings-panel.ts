import { type GuardRequest, ratedPer } from 'flinch-client';
import { DEFAULT_METHODS, type Method, PROBABILITY_METHODS } from 'flinch-client/protocol';
import { byId, element, setText } from './dom.js';
import { isMethod, METHOD_WORDS } from './words.js';

const ACTION_WORDS = {
  annotate: 'Mark it',
  stop: 'Stop the answer',
  rollback: 'Roll back and rewrite',
  reflect: 'Ask the model to check it',
} as const;
type Action = keyof typeof ACTION_WORDS;

const CHEAP: readonly Method[] = PROBABILITY_METHODS;

/** Settings of the guard: the form of index.html, and its summary in a line. */
export class SettingsPanel {
  readonly #action = byId('guard-action', HTMLSelectElement);
  readonly #method = byId('guard-method', HTMLSelectElement);
  readonly #rate = byId('guard-rate', HTMLInputElement);
  readonly #per = byId('guard-per', HTMLSelectElement);
  readonly #schedule = byId('guard-schedule', HTMLSelectElement);
  readonly #delivery = byId('guard-delivery', HTMLSelectElement);
  readonly #candidates = byId('guard-candidates', HTMLInputElement);
  readonly #choose = byId('guard-choose', HTMLSelectElement);
  readonly #panel = byId('guard', HTMLDetailsElement);
  /** Fields that the user has set: the operator decides about all others. */
  readonly #set = new Set<EventTarget | null>();

  constructor() {
    for (const [value, words] of Object.entries(ACTION_WORDS)) this.#action.append(option(value, words));
    this.#panel.addEventListener('input', ({ target }) => {
      this.#set.add(target);
      this.#render();
    });
    this.#render();
  }

  /** The scores that steps can be judged by. */
  offer(methods: readonly Method[]): void {
    const { value } = this.#method;
    const options = methods.map((method) => option(method, METHOD_WORDS[method].name));
    this.#method.replaceChildren(option('', 'Default'), ...options);
    if (methods.some((method) => method === value)) this.#method.value = value;
  }

  /** Whether all fields can be used; shows the first that cannot. */
  valid(): boolean {
    const wrong = [this.#rate, this.#candidates].find((field) => !field.disabled && !field.checkValidity());
    if (!wrong) return true;
    this.#panel.open = true;
    wrong.reportValidity();
    return false;
  }

  /** @param shown the score that the page shows of each token */
  request(shown: Method | null): GuardRequest {
    const action = actionOf(this.#action.value);
    const method = methodOf(this.#method.value);
    const rollback = action === 'rollback';
    const wanted = [method, shown].flatMap((one) => one ?? []);
    const further = wanted.filter((one) => !CHEAP.includes(one));
    const isSet = (field: EventTarget): boolean => this.#set.has(field);
    return {
      ...(isSet(this.#action) && { action }),
      ...(isSet(this.#rate) && { rate: this.#rate.valueAsNumber / 100 }),
      ...(isSet(this.#per) && { per: this.#rated }),
      ...(isSet(this.#schedule) && {
        scoring: { schedule: this.#schedule.value === 'lazy' ? 'lazy' : 'windowed' },
      }),
      ...(isSet(this.#delivery) && { delivery: this.#delivery.value === 'held' ? 'held' : 'immediate' }),
      ...(method && { method }),
      // An operator may have left out those that take passes.
      ...(further.length > 0 && { methods: [...new Set([...DEFAULT_METHODS, ...further])] }),
      ...(rollback && isSet(this.#candidates) && { candidates: this.#candidates.valueAsNumber }),
      ...(rollback &&
        isSet(this.#choose) && {
          choose: this.#choose.value === 'uncertainty' ? 'uncertainty' : 'majority',
        }),
    };
  }

  get #rated(): NonNullable<GuardRequest['per']> {
    return ratedPer(this.#per.value);
  }

  #render(): void {
    const action = actionOf(this.#action.value);
    for (const field of [this.#candidates, this.#choose]) field.disabled = action !== 'rollback';
    const what = ACTION_WORDS[action].toLowerCase();
    const rate = `${this.#rate.value} % false alarms per ${this.#rated}`;
    setText(byId('guard-summary', HTMLElement), `${what}, ${rate}`);
  }
}

const option = (value: string, words: string): HTMLOptionElement => element('option', { value }, words);

const isAction = (value: string): value is Action => Object.hasOwn(ACTION_WORDS, value);
const actionOf = (value: string): Action => (isAction(value) ? value : 'annotate');
const methodOf = (value: string): Method | null => (isMethod(value) ? value : null);
