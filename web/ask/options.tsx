import type { Method } from 'flinch-client/protocol';
import { type ReactNode, useEffect, useRef } from 'react';
import {
  actionHint,
  GUARD_FIELDS,
  type GuardField,
  hasAction,
  isOpen,
  lockOf,
  policyValue,
  problemsOf,
  SAMPLING_FIELDS,
  type Settings,
} from '../page-settings.js';
import type { Model } from '../server/page-models.js';
import { ADVERSARIAL_OR_ENTROPY, isMethod, METHOD_WORDS, METHODS } from '../words.js';

export interface OptionsProps {
  readonly settings: Settings;
  readonly model: Model | null;
  /** What the server said of fields of the last question. */
  readonly refused: Readonly<Record<string, string>>;
  /** How many questions were not sent because of a wrong value: at each, the first one is brought into view. */
  readonly refusals: number;
  readonly onChange: (settings: Partial<Settings>) => void;
}

/** Everything that can be set for a question, and how answers are shown. */
export function Options({ settings, model, refused, refusals, onChange }: OptionsProps): ReactNode {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => root.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [refusals]);
  const methods = model?.methods ?? METHODS;
  const fieldOf = (field: GuardField): GuardField => {
    if (field.name === 'method') return { ...field, values: methods };
    return field.name === 'action' ? { ...field, hint: actionHint(settings, model) } : field;
  };
  const problems = { ...refused, ...problemsOf(settings, model?.policy ?? null) };
  const [temperature, ...sampling] = SAMPLING_FIELDS.map(({ name, label, hint }) => (
    <Field key={name} id={name} label={label} hint={hint} problem={problems[name]}>
      {(control) => (
        <input
          {...control}
          inputMode="decimal"
          value={settings.sampling[name] ?? ''}
          placeholder="auto"
          aria-invalid={problems[name] !== undefined}
          onChange={({ currentTarget }) =>
            onChange({ sampling: { ...settings.sampling, [name]: currentTarget.value.trim() } })
          }
        />
      )}
    </Field>
  ));
  return (
    <div id="options" className="options" ref={root}>
      <fieldset>
        <legend>Model</legend>
        {temperature}
        <Field id="system" label="System prompt" hint="Sent before every question.">
          {(control) => (
            <textarea
              {...control}
              rows={1}
              value={settings.system}
              onChange={({ currentTarget }) => onChange({ system: currentTarget.value })}
            />
          )}
        </Field>
        {sampling}
      </fieldset>
      <fieldset>
        <legend>How it is judged</legend>
        {GUARD_FIELDS.map((field) => (
          <GuardOption
            key={field.name}
            field={fieldOf(field)}
            settings={settings}
            model={model}
            problem={problems[field.name]}
            onChange={onChange}
          />
        ))}
        <Field id="colours" label="Colour by" hint={colourHint(settings.colours, methods)}>
          {(control) => (
            <select
              {...control}
              value={settings.colours}
              onChange={({ currentTarget }) => onChange({ colours: currentTarget.value })}
            >
              <option value="">the method that judges</option>
              {methods.map((method) => (
                <option key={method} value={method}>
                  {METHOD_WORDS[method].name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field
          id="view"
          label="Text"
          hint="formatted: Markdown and formulas. plain: each token as it was written."
        >
          {(control) => (
            <select
              {...control}
              value={settings.view}
              onChange={({ currentTarget }) => onChange({ view: currentTarget.value })}
            >
              <option value="formatted">formatted</option>
              <option value="plain">plain</option>
            </select>
          )}
        </Field>
      </fieldset>
    </div>
  );
}

/** What the chosen score means, and where there is a choice, when which one is better. */
function colourHint(chosen: string, methods: readonly Method[]): string {
  const meaning = isMethod(chosen) ? `${METHOD_WORDS[chosen].name}: ${METHOD_WORDS[chosen].meaning}.` : '';
  return [meaning, methods.includes('adversarial') ? ADVERSARIAL_OR_ENTROPY : ''].filter(Boolean).join(' ');
}

interface GuardOptionProps extends Pick<OptionsProps, 'settings' | 'model' | 'onChange'> {
  readonly field: GuardField;
  readonly problem: string | undefined;
}

/** A field of the guard; one that the operator locks shows its value and who locks it. */
function GuardOption({ field, settings, model, problem, onChange }: GuardOptionProps): ReactNode {
  const { name, label, hint, values } = field;
  const policy = model?.policy ?? null;
  const lock = lockOf(field, policy);
  const judge = name === 'method' && model?.method ? METHOD_WORDS[model.method].name : null;
  const unset = policyValue(field, policy) ?? judge ?? field.unset;
  const common = {
    value: lock === null ? (settings.guard[name] ?? '') : '',
    disabled: !isOpen(field, settings, policy),
    'aria-invalid': problem !== undefined,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) =>
      onChange({ guard: { ...settings.guard, [name]: currentTarget.value.trim() } }),
  };
  return (
    <Field
      id={`guard-${name}`}
      label={label}
      hint={lock === null ? hint : `Locked by the policy ${lock}.`}
      problem={problem}
    >
      {(control) =>
        values ? (
          <select {...control} {...common}>
            <option value="">{lock === null ? `default: ${unset}` : unset}</option>
            {values.map((value) => (
              <option
                key={value}
                value={value}
                disabled={name === 'action' && !hasAction(value, { escalatesTo: model?.escalatesTo ?? null })}
              >
                {name === 'method' && isMethod(value) ? METHOD_WORDS[value].name : value}
              </option>
            ))}
          </select>
        ) : (
          <input {...control} inputMode="decimal" placeholder={unset} {...common} />
        )
      }
    </Field>
  );
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  readonly problem?: string | undefined;
  readonly children: (control: { readonly id: string; readonly 'aria-describedby': string }) => ReactNode;
}

/** A control with its name, its meaning, and what is wrong with its value. */
function Field({ id, label, hint, problem, children }: FieldProps): ReactNode {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-problem ${id}-hint` })}
      <p id={`${id}-problem`} className="field-problem" role="alert">
        {problem}
      </p>
      <p id={`${id}-hint`} className="field-hint">
        {hint}
      </p>
    </div>
  );
}
