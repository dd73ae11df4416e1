import type { ReactNode } from 'react';
import type { PageState } from './page-state.js';

export interface PageHeaderProps {
  readonly state: PageState;
  readonly onModel: (id: string) => void;
  readonly onChats: () => void;
  readonly onNewChat: () => void;
  readonly onHelp: () => void;
}

export function PageHeader({ state, onModel, onChats, onNewChat, onHelp }: PageHeaderProps): ReactNode {
  const { models, model, turns, chats } = state;
  return (
    <header className="page-header">
      <h1>
        <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
          <path d="M2 21h8l3 3 5-18 4 20 2-5h6" />
        </svg>
        <span>flinch</span>
      </h1>
      <p id="connection" data-status={statusOf(state)} role="status">
        <span className="dot" />
        <span id="connection-words">{connectionWords(state)}</span>
      </p>
      <label>
        <span className="visually-hidden">Model</span>
        <select
          id="model"
          disabled={models.length === 0}
          value={model?.id ?? ''}
          onChange={({ currentTarget }) => onModel(currentTarget.value)}
        >
          {models.map(({ id, problem }) => (
            <option key={id} value={id}>
              {problem === null ? id : `${id} (unavailable)`}
            </option>
          ))}
        </select>
      </label>
      <button type="button" id="chats" className="quiet" disabled={chats.length === 0} onClick={onChats}>
        Chats
      </button>
      <button
        type="button"
        id="new-chat"
        className="quiet"
        disabled={turns.length === 0}
        aria-label="New chat"
        onClick={onNewChat}
      >
        +
      </button>
      <button type="button" id="help" className="quiet" aria-label="Help" onClick={onHelp}>
        ?
      </button>
    </header>
  );
}

const statusOf = ({ connection, model }: PageState): string =>
  connection.status === 'open' && model?.problem ? 'waiting' : connection.status;

/** What the page can do now: a server that is there helps nobody while its model is not. */
function connectionWords({ connection, lost, model }: PageState): string {
  if (connection.status === 'open') return model?.problem ? `${model.id} is unavailable` : 'Connected';
  if (connection.status === 'connecting') return lost === null ? 'Connecting' : 'Reconnecting';
  return connection.status === 'waiting' ? 'Reconnecting' : 'Not connected';
}
