import { type ReactNode, useState } from 'react';
import { Dialog } from '../dialog.js';

export interface KeyDialogProps {
  readonly refused: boolean;
  readonly onEnter: (key: string) => void;
  readonly onClose: () => void;
}

/** Asks for the key that the server wants. */
export function KeyDialog({ refused, onEnter, onClose }: KeyDialogProps): ReactNode {
  const [key, setKey] = useState('');
  return (
    <Dialog title="API key" onClose={onClose}>
      <form
        id="key-dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== '') onEnter(key.trim());
        }}
      >
        <p>
          {refused ? 'The server does not accept this key.' : 'This server asks for an API key.'} It is kept
          until this tab is closed, and only sent to this server.
        </p>
        <label htmlFor="key">Key</label>
        <input
          id="key"
          type="password"
          autoFocus
          autoComplete="off"
          spellCheck={false}
          value={key}
          onChange={({ currentTarget }) => setKey(currentTarget.value)}
        />
        <div className="buttons">
          <button type="submit" className="primary">
            Use it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
