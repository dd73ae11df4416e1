import { type ReactNode, useEffect, useRef } from 'react';
import { isSend } from '../ask/composer.js';

export interface QuestionEditorProps {
  readonly question: string;
  readonly canAsk: boolean;
  /** @returns whether the question was sent */
  readonly onAsk: (question: string) => boolean;
  readonly onClose: () => void;
}

/** The question in its place, to be changed and asked again. */
export function QuestionEditor({ question, canAsk, onAsk, onClose }: QuestionEditorProps): ReactNode {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = () => {
    if (onAsk(field.current?.value ?? '')) onClose();
  };
  return (
    <form
      className="question"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={({ key }) => {
        if (key === 'Escape') onClose();
      }}
    >
      <textarea
        ref={field}
        aria-label="Edit the question"
        rows={2}
        defaultValue={question}
        onKeyDown={(event) => {
          if (!isSend(event)) return;
          event.preventDefault();
          send();
        }}
      />
      <button type="submit" className="quiet" disabled={!canAsk}>
        Send
      </button>
      <button type="button" className="quiet" onClick={onClose}>
        Cancel
      </button>
    </form>
  );
}
