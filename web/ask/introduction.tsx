import type { ReactNode } from 'react';
import type { AskTo } from '../page-settings.js';
import type { Model } from '../server/page-models.js';
import { examplesFor } from './examples.js';
import { introWords } from './intro.js';

export interface IntroductionProps {
  readonly model: Model;
  readonly canAsk: boolean;
  readonly onAsk: (question: string, to?: AskTo) => boolean;
}

/** Before the first question: what is to be seen, and questions for the model. */
export function Introduction({ model, canAsk, onAsk }: IntroductionProps): ReactNode {
  return (
    <section id="intro" className="introduction">
      <h2>Ask a question that needs several steps.</h2>
      <p>{introWords(model)}</p>
      {model.embedded && (
        <p>The embedded model is tiny and only knows puzzles like these. It is sometimes wrong.</p>
      )}
      {model.singleTurn && <p>This model is asked each question alone, without the earlier ones.</p>}
      <div id="examples">
        {examplesFor(model).map(({ name, question, note, sampling }) => (
          <button
            key={name}
            type="button"
            className="example"
            disabled={!canAsk}
            onClick={() => onAsk(question, sampling && { sampling })}
          >
            <span className="example-name">{name}</span>
            <span>
              {question} {note && <span className="example-note">{note}</span>}
            </span>
          </button>
        ))}
      </div>
    </section>
  );
}
