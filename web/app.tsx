import { isWritten } from 'flinch-client';
import { type ReactNode, type RefObject, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { Announcer } from './announcer.js';
import { Composer } from './ask/composer.js';
import { Options } from './ask/options.js';
import { CalibrationRow } from './calibration-row.js';
import { ChatList } from './chats/chat-list.js';
import { HelpDialog } from './help-dialog.js';
import { PageHeader } from './page-header.js';
import { problemsOf } from './page-settings.js';
import { isReady, type Page, type PageState } from './page-state.js';
import { KeyDialog } from './server/key-dialog.js';
import { Transcript } from './transcript.js';

export function App({ page }: { readonly page: Page }): ReactNode {
  const state = useSyncExternalStore(page.subscribe, page.snapshot);
  const { settings, model, turns, key } = state;
  const [dialog, setDialog] = useState<'help' | 'chats' | null>(null);
  const [options, setOptions] = useState(false);
  /** Questions that were not sent because of a wrong value. */
  const [refusals, setRefusals] = useState(0);
  const question = useRef<HTMLTextAreaElement>(null);
  const current = turns.at(-1)?.shown;
  const ready = isReady(state);
  const busy = turns.some(({ shown }) => !isWritten(shown.answer));
  const ask = (...question: Parameters<Page['ask']>): boolean => {
    if (Object.keys(problemsOf(settings, model?.policy ?? null)).length > 0) {
      setOptions(true); // they say what is wrong
      setRefusals((count) => count + 1);
    }
    return page.ask(...question);
  };
  useShortcuts({ stop: () => page.stop(), help: () => setDialog('help'), question });
  useEffect(() => question.current?.focus(), []);
  const title = state.chats.find(({ id }) => id === state.chat)?.title ?? turns[0]?.shown.question;
  useEffect(() => {
    document.title = title === undefined ? 'flinch' : `${title} – flinch`; // in the browser's history
  }, [title]);
  return (
    <>
      <PageHeader
        state={state}
        onModel={(id) => page.choose(id)}
        onChats={() => setDialog('chats')}
        onNewChat={() => {
          page.newChat();
          question.current?.focus();
        }}
        onHelp={() => setDialog('help')}
      />
      <Notice state={state} onRetry={() => page.retry()} />
      <CalibrationRow
        model={model}
        answer={turns.findLast(({ shown }) => shown.model === model?.id)?.shown.answer ?? null}
        onCalibrate={() => page.calibrate()}
      />
      <Transcript
        state={state}
        ready={ready}
        onAsk={ask}
        onShow={(exchange) => page.show(exchange)}
        onDelete={(turn) => void page.deleteTurn(turn)}
      />
      <section className="bottom" aria-label="Ask">
        {options && (
          <Options
            settings={settings}
            model={model}
            refused={refusedField(state)}
            refusals={refusals}
            onChange={(change) => page.change(change)}
          />
        )}
        <Composer
          field={question}
          busy={busy}
          canAsk={ready}
          options={options}
          changed={hasChanges(state)}
          onOptions={() => setOptions(!options)}
          onAsk={ask}
          onStop={() => {
            page.stop();
            question.current?.focus();
          }}
        />
      </section>
      <Announcer exchange={current} />
      {dialog === 'help' && <HelpDialog onClose={() => setDialog(null)} />}
      {dialog === 'chats' && (
        <ChatList
          chats={state.chats}
          current={state.chat}
          onOpen={(id) => {
            void page.openChat(id);
            question.current?.focus();
          }}
          onRename={(id, name) => void page.renameChat(id, name)}
          onExport={(chat) => void page.exportChat(chat)}
          onDelete={(chat) => void page.deleteChat(chat)}
          onClose={() => setDialog(null)}
        />
      )}
      {key !== 'none' && (
        <KeyDialog
          refused={key === 'refused'}
          onEnter={(entered) => {
            page.enter(entered);
            question.current?.focus();
          }}
          onClose={() => page.dismissKey()}
        />
      )}
    </>
  );
}

/** What keeps the page from its server, or its model from taking questions. */
function Notice({ state, onRetry }: { readonly state: PageState; readonly onRetry: () => void }): ReactNode {
  const { lost, problem, unsent, model } = state;
  const unavailable = model?.problem ? `${model.id} takes no questions now: ${model.problem}.` : null;
  const words = [
    lost ?? problem ?? unavailable,
    unsent && 'Your question was not sent and stays below.',
  ].filter(Boolean);
  return (
    <div id="notice" role="alert" hidden={words.length === 0}>
      <span>{words.join(' ')}</span>
      {words.length > 0 && (
        <button type="button" className="quiet" onClick={onRetry}>
          Try now
        </button>
      )}
    </div>
  );
}

/** The field of the last question that the server refused, with its reason. */
function refusedField({ turns }: PageState): Readonly<Record<string, string>> {
  const { param = null, message = '' } = turns.at(-1)?.shown.answer.error ?? {};
  return param === null ? {} : { [param.replace(/^guard\./, '')]: message };
}

const hasChanges = ({ settings }: PageState): boolean =>
  [
    settings.system,
    settings.colours,
    ...Object.values(settings.sampling),
    ...Object.values(settings.guard),
  ].some(Boolean);

interface Shortcuts {
  readonly stop: () => void;
  readonly help: () => void;
  readonly question: RefObject<HTMLTextAreaElement | null>;
}

/** Keys that work wherever the focus is, but in a field that takes text. They are listed in the help. */
function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const { key, target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (document.querySelector('dialog[open]')) return;
      if (key === 'Escape') latest.current.stop();
      const typing = target instanceof Element && target.matches('input, textarea, select');
      if (typing) return;
      if (key === '?') latest.current.help();
      else if (key === '/') latest.current.question.current?.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
}
