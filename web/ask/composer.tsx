import { type KeyboardEvent, type ReactNode, type RefObject, useState } from 'react';
import { storeDraft, storedDraft } from '../stored.js';

export interface ComposerProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly busy: boolean;
  readonly canAsk: boolean;
  /** Whether the options are open, and whether any is set. */
  readonly options: boolean;
  readonly changed: boolean;
  readonly onOptions: () => void;
  /** @returns whether the question was sent */
  readonly onAsk: (question: string) => boolean;
  readonly onStop: () => void;
}

/** Enter that ends a composition (Japanese, Chinese, Korean input) belongs to the text. */
export const isSend = ({ key, shiftKey, nativeEvent }: KeyboardEvent): boolean =>
  key === 'Enter' && !shiftKey && !nativeEvent.isComposing;

/** The row to ask: question, options, send. */
export function Composer(props: ComposerProps): ReactNode {
  const { field, busy, canAsk, options, changed, onOptions, onAsk, onStop } = props;
  const [text, setText] = useState(storedDraft);
  const write = (next: string) => {
    setText(next);
    storeDraft(next);
  };
  const submit = () => {
    if (onAsk(text)) write('');
    field.current?.focus();
  };
  return (
    <form
      id="ask"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <button
        type="button"
        className="quiet"
        id="options-button"
        aria-expanded={options}
        aria-controls="options"
        onClick={onOptions}
      >
        Options{changed ? ' •' : ''}
      </button>
      <label htmlFor="question" className="visually-hidden">
        Question
      </label>
      <textarea
        id="question"
        ref={field}
        rows={1}
        placeholder="Ask a question"
        autoComplete="off"
        value={text}
        onChange={({ currentTarget }) => write(currentTarget.value)}
        onKeyDown={(event) => {
          if (!isSend(event)) return;
          event.preventDefault();
          submit();
        }}
      />
      {busy ? (
        <button type="button" id="stop" className="primary" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button type="submit" id="send" className="primary" disabled={!canAsk}>
          Send
        </button>
      )}
    </form>
  );
}
