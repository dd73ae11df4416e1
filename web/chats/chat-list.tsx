import { type ReactNode, useState } from 'react';
import { Dialog } from '../dialog.js';
import type { ChatSummary } from './chat-store.js';

export interface ChatListProps {
  readonly chats: readonly ChatSummary[];
  /** Id of the chat on the page. */
  readonly current: string;
  readonly onOpen: (id: string) => void;
  readonly onRename: (id: string, name: string) => void;
  readonly onExport: (chat: ChatSummary) => void;
  readonly onDelete: (chat: ChatSummary) => void;
  readonly onClose: () => void;
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** The chats that this browser keeps. */
export function ChatList(props: ChatListProps): ReactNode {
  const { chats, current, onOpen, onRename, onExport, onDelete, onClose } = props;
  const [searched, setSearched] = useState('');
  const found = chats.filter((chat) => hasWords(chat, searched));
  const rename = ({ id, title }: ChatSummary) => {
    const name = prompt('Name of the chat', title)?.trim();
    if (name) onRename(id, name);
  };
  const remove = (chat: ChatSummary) => {
    if (confirm(`Delete “${chat.title}”?`)) onDelete(chat);
  };
  return (
    <Dialog title="Chats" onClose={onClose}>
      <input
        type="search"
        className="search"
        aria-label="Search chats"
        placeholder="Search questions and answers"
        value={searched}
        onChange={({ currentTarget }) => setSearched(currentTarget.value)}
      />
      <p role="status">{found.length === 0 && 'No chat found.'}</p>
      <ul className="chats">
        {found.map((chat) => (
          <li key={chat.id}>
            <button
              type="button"
              className="chat"
              aria-current={chat.id === current ? 'page' : undefined}
              onClick={() => {
                onClose();
                onOpen(chat.id);
              }}
            >
              <span>{chat.title}</span>
              <small>
                {chat.flagged && (
                  <>
                    <b className="flinch-flag" aria-hidden="true">
                      ⚑
                    </b>
                    flagged ·{' '}
                  </>
                )}
                <time dateTime={new Date(chat.atMs).toISOString()}>{DAY.format(chat.atMs)}</time>
              </small>
            </button>
            <Action name="Rename" chat={chat} does={rename} />
            <Action name="Export" chat={chat} does={onExport} />
            <Action name="Delete" chat={chat} does={remove} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

interface ActionProps {
  readonly name: string;
  readonly chat: ChatSummary;
  readonly does: (chat: ChatSummary) => void;
}

const Action = ({ name, chat, does }: ActionProps): ReactNode => (
  <button type="button" className="quiet" aria-label={`${name} ${chat.title}`} onClick={() => does(chat)}>
    {name}
  </button>
);

/** Whether all words are in its name, its questions or its answers. */
function hasWords({ title, text }: ChatSummary, searched: string): boolean {
  const all = `${title}\n${text}`.toLowerCase();
  return searched
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
