import type { ReactNode } from 'react';
import { Dialog } from './dialog.js';
import { GLOSSARY } from './glossary.js';

const KEYS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [['Enter'], 'send the question'],
  [['Shift', 'Enter'], 'new line in the question'],
  [['Esc'], 'stop the answer; close a card or a dialog'],
  [['/'], 'go to the question'],
  [['Tab'], 'go to the next control, including the text of an answer'],
  [['←', '→', '↑', '↓'], 'move between tokens in an answer'],
  [['Home', 'End'], 'first and last token of an answer'],
  [['?'], 'show this help'],
];

/** How to read an answer, the words of the page, and its keys. */
export function HelpDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Dialog title="Reading an answer" onClose={onClose}>
      <p>
        The colour of a token shows how unusual its score is; without ordinary scores to compare it with, how
        high it is. The line under a step shows the same of the step, from thin dots to a wavy line with a
        flag. Text that the guard replaced is struck out, followed by the replacement. Point at a token, tap
        it, or move to it with the keys, to see its numbers. In the chart, a click goes to a token, and
        dragging zooms in.
      </p>
      <h3>Words</h3>
      <dl>
        {GLOSSARY.map(({ word, meaning }) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <h3>Keys</h3>
      <dl>
        {KEYS.map(([keys, does]) => (
          <div key={does}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p>Chats and the system prompt are kept in this browser.</p>
    </Dialog>
  );
}
