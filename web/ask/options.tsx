import type { ReactNode } from 'react';
import {
  actionsOf,
  GUARD_FIELDS,
  type GuardField,
  isOpen,
  lockOf,
  policyValue,
  problemsOf,
  type Settings,
} from '../page-settings.js';
import type { Model } from '../server/page-models.js';
import { isMethod, METHOD_WORDS, METHODS } from '../words.js';

export interface OptionsProps {
  readonly settings: Settings;
  readonly model: Model | null;
  /** What the server said of fields of the last question. */
  readonly refused: Readonly<Record<string, string>>;
  readonly onChange: (settings: Partial<Settings>) => void;
}

/** Everything that can be set for a question, and how answers are shown. */
export function Options({ settings, model, refused, onChange }: OptionsProps): ReactNode {
  const methods = model?.methods ?? METHODS;
  const valuesOf = ({ name }: GuardField): Pick<GuardField, 'values'> => {
    if (name === 'method') return { values: methods };
    return name === 'action' ? { values: actionsOf(model?.escalatesTo ?? null) } : {};
  };
  const problems = { ...refused, ...problemsOf(settings, model?.policy ?? null) };
  return (
    <div id="options" className="options">
      <fieldset>
        <legend>Guard</legend>
        {GUARD_FIELDS.map((field) => (
          <GuardOption
            key={field.name}
            field={{ ...field, ...valuesOf(field) }}
            settings={settings}
            model={model}
            problem={problems[field.name]}
            onChange={onChange}
          />
        ))}
      </fieldset>
      <fieldset>
        <legend>Model</legend>
        <Field
          id="temperature"
          label="Temperature"
          hint="0 always selects the most probable token. Empty: the model's own."
          problem={problems.temperature}
        >
          {(control) => (
            <input
              {...control}
              inputMode="decimal"
              value={settings.temperature}
              placeholder="auto"
              aria-invalid={problems.temperature !== undefined}
              onChange={({ currentTarget }) => onChange({ temperature: currentTarget.value.trim() })}
            />
          )}
        </Field>
        <Field id="system" label="System prompt" hint="Sent before every question.">
          {(control) => (
            <textarea
              {...control}
              rows={2}
              value={settings.system}
              onChange={({ currentTarget }) => onChange({ system: currentTarget.value })}
            />
          )}
        </Field>
      </fieldset>
      <fieldset>
        <legend>Show</legend>
        <Field
          id="colours"
          label="Colour by"
          hint={isMethod(settings.colours) ? METHOD_WORDS[settings.colours].meaning : ''}
        >
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
              <option key={value} value={value}>
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
