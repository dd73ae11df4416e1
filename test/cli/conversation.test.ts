import { describe, expect, it } from 'vitest';
import { Conversation } from '#cli/chat/conversation.js';

/** A prompt has as many tokens as its messages have characters. */
const chat = (room: number, system?: string) =>
  new Conversation({
    system,
    tokensOf: (messages) => messages.map(({ content }) => content).join('').length,
    room,
  });

const said = (conversation: Conversation, question: string) => {
  const { messages, leftOut } = conversation.ask(question);
  return { leftOut, contents: messages.map(({ role, content }) => `${role[0]}:${content}`).join(' ') };
};

describe('a conversation', () => {
  it('tells earlier questions and answers, after the system message', () => {
    const conversation = chat(100, 'S');
    expect(said(conversation, 'q1')).toEqual({ leftOut: 0, contents: 's:S u:q1' });
    conversation.answered('q1', 'a1');
    expect(said(conversation, 'q2')).toEqual({ leftOut: 0, contents: 's:S u:q1 a:a1 u:q2' });
  });

  it('does not tell a question that was not answered', () => {
    const conversation = chat(100);
    conversation.ask('q1');
    expect(said(conversation, 'q2').contents).toBe('u:q2');
  });

  it('leaves the oldest out once there is no room, and says how many', () => {
    const conversation = chat(8);
    for (const i of [1, 2, 3]) conversation.answered(`q${i}`, `a${i}`);
    expect(said(conversation, 'q4')).toEqual({ leftOut: 2, contents: 'u:q3 a:a3 u:q4' });
    // A question that is too long by itself is asked: whoever encodes it refuses it, and nothing is lost.
    expect(said(conversation, 'a question')).toEqual({ leftOut: 3, contents: 'u:a question' });
    expect(said(conversation, 'q4')).toEqual({ leftOut: 2, contents: 'u:q3 a:a3 u:q4' });
  });

  it('begins anew with the same system message', () => {
    const conversation = chat(100, 'S');
    conversation.answered('q1', 'a1');
    conversation.clear();
    expect(said(conversation, 'q2').contents).toBe('s:S u:q2');
  });
});
