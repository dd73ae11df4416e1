import { useChat } from '@ai-sdk/react';
import type { UIMessage } from 'ai';
import type { FlinchDataParts } from 'flinch-ai-sdk';
import { FlaggedText, useFlinch } from 'flinch-react';
import { type ReactNode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import 'flinch-react/style.css';
import './demo.css';

type Message = UIMessage<unknown, FlinchDataParts>;

function AnswerView({ message }: { readonly message: Message }): ReactNode {
  const texts = useFlinch(message);
  return (
    <article aria-label="Answer">
      {texts.map((text, part) => text && <FlaggedText key={`${message.id}/${part}`} {...text} />)}
    </article>
  );
}

function QuestionView({ message }: { readonly message: Message }): ReactNode {
  return <p className="question">{message.parts.map((part) => (part.type === 'text' ? part.text : ''))}</p>;
}

function Chat(): ReactNode {
  const { messages, sendMessage, status, error } = useChat<Message>();
  const [question, setQuestion] = useState('What is (82 - 16) * 9 - 54 + 59?');
  const busy = status === 'submitted' || status === 'streaming';
  return (
    <>
      <h1>Chat with flinch</h1>
      {messages.map((message) => {
        const View = message.role === 'user' ? QuestionView : AnswerView;
        return <View key={message.id} message={message} />;
      })}
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          sendMessage({ text: question });
        }}
      >
        <input aria-label="Question" value={question} onChange={(event) => setQuestion(event.target.value)} />
        <button type="submit" disabled={busy}>
          Ask
        </button>
      </form>
    </>
  );
}

const root = document.getElementById('chat');
if (root) createRoot(root).render(<Chat />);
