import type { ReactNode } from 'react';
import { Dialog } from '../dialog.js';
import type { ChatSummary } from './chat-store.js';

export interface ChatListProps {
  readonly chats: readonly ChatSummary[];
  readonly onOpen: (id: string) => void;
  readonly onDelete: (chat: ChatSummary) => void;
  readonly onClose: () => void;
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** The chats that this browser keeps. */
export function ChatList({ chats, onOpen, onDelete, onClose }: ChatListProps): ReactNode {
  return (
    <Dialog title="Chats" onClose={onClose}>
      {chats.length === 0 && <p>There is no chat.</p>}
      <ul className="chats">
        {chats.map((chat) => (
          <li key={chat.id}>
            <button
              type="button"
              className="chat"
              onClick={() => {
                onClose();
                onOpen(chat.id);
              }}
            >
              <span>{chat.title}</span>
              <time dateTime={new Date(chat.atMs).toISOString()}>{DAY.format(chat.atMs)}</time>
            </button>
            <button
              type="button"
              className="quiet"
              aria-label={`Delete ${chat.title}`}
              onClick={() => {
                if (confirm(`Delete “${chat.title}”?`)) onDelete(chat);
              }}
            >
              Delete
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
