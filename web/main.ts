import { type ConnectionState, isOver } from 'flinch-client';
import { ApiKey } from './api-key.js';
import { byId, element, setText } from './dom.js';
import { examplesFor } from './examples.js';
import { Server } from './gateway-connection.js';
import { History } from './history.js';
import { introWords } from './intro.js';
import type { Model } from './models.js';
import { fromLines } from './recording.js';
import { ALTERNATIVES, recordingOf, Session } from './session.js';
import { SettingsPanel } from './settings-panel.js';
import { listenForShortcuts } from './shortcuts.js';
import { remembered } from './stored.js';
import { followTheme } from './theme.js';
import { Transcript } from './transcript.js';
import { ALWAYS_THERE, isMethod, METHOD_WORDS, METHODS, sentence } from './words.js';

const question = byId('question', HTMLTextAreaElement);
const send = byId('send', HTMLButtonElement);
const stop = byId('stop', HTMLButtonElement);
const model = byId('model', HTMLSelectElement);
const temperature = byId('temperature', HTMLInputElement);
const colours = byId('colours', HTMLSelectElement);
const view = byId('view', HTMLSelectElement);
const system = byId('system', HTMLTextAreaElement);
const newChat = byId('new-chat', HTMLButtonElement);
const chips = byId('chips', HTMLElement);
const intro = byId('intro', HTMLElement);
const notice = byId('notice', HTMLElement);
let examples: readonly HTMLButtonElement[] = [];
let models: readonly Model[] = [];

let connection: ConnectionState = { status: 'connecting' };
/** Why there is no connection; kept until there is one, so that the notice does not blink with every attempt. */
let lost: string | null = null;
let problem: string | null = null;
/** The connection came back while an answer was under way. */
let resumed = false;

const settings = new SettingsPanel();
const transcript = new Transcript({
  scroller: byId('scroller', HTMLElement),
  list: byId('transcript', HTMLElement),
  announcer: byId('announcer', HTMLElement),
  method: ALWAYS_THERE,
  askAgain: ask,
});
const key = new ApiKey(() => void server.enter(key.value));
const server = new Server({
  state: (state) => {
    connection = state;
    if (state.status === 'waiting') lost = `${sentence(state.error.message)} Reconnecting…`;
    if (state.status === 'closed' && state.error) lost = sentence(state.error.message);
    if (state.status === 'open') {
      resumed = lost !== null && session.current !== null;
      lost = null;
    }
    render();
  },
  models: (offered) => {
    const { value } = model;
    models = offered;
    model.replaceChildren(...models.map(({ id }) => element('option', { value: id }, id)));
    if (models.some(({ id }) => id === value)) model.value = value;
    model.disabled = false;
    problem = null;
    showModel();
  },
  problem: (words) => {
    problem = words;
    render();
  },
  keyNeeded: () => {
    problem = 'This server asks for an API key.';
    key.ask();
    render();
  },
});
const session = new Session({
  generate: (request) => server.generate(request),
  nowMs: () => performance.now(),
  changed: (exchange) => {
    transcript.show(exchange);
    if (!restoring && isOver(exchange.answer)) history.add(recordingOf(exchange));
    render();
  },
});
const history = new History(localStorage);
/** True while the answers of the browser's store are shown: they are not new. */
let restoring = false;

/** Sends a question, unless an answer is under way or a setting is not valid: then it stays in its box. */
function ask(text: string): boolean {
  if (!ready() || text.trim() === '') return false;
  if (!temperature.reportValidity() || !settings.valid()) return false;
  problem = null;
  resumed = false;
  const most = chosenModel()?.topLogprobs ?? null;
  session.ask(text.trim(), {
    model: model.value,
    guard: settings.request(isMethod(colours.value) ? colours.value : null),
    ...(system.value.trim() !== '' && { system: system.value.trim() }),
    ...(most !== null && { topLogprobs: Math.min(ALTERNATIVES, most) }),
    ...(temperature.value === '' ? {} : { temperature: temperature.valueAsNumber }),
  });
  return true;
}

function ready(): boolean {
  return connection.status === 'open' && model.value !== '' && session.current === null;
}

function render(): void {
  const busy = session.current !== null;
  send.hidden = busy;
  stop.hidden = !busy;
  send.disabled = !ready();
  for (const button of examples) button.disabled = !ready();
  transcript.allowAsking(ready());
  intro.hidden = session.exchanges.length > 0;
  chips.hidden = !intro.hidden;
  newChat.hidden = !intro.hidden;
  byId('connection', HTMLElement).dataset.status = connection.status;
  setText(byId('connection-words', HTMLElement), connectionWords());
  notice.hidden = (lost ?? problem) === null;
  setText(byId('notice-words', HTMLElement), lost ?? problem ?? '');
}

function connectionWords(): string {
  if (connection.status === 'open') return resumed ? 'Resumed' : 'Connected';
  if (connection.status === 'connecting') return lost === null ? 'Connecting' : 'Reconnecting';
  return connection.status === 'waiting' ? 'Reconnecting' : 'Not connected';
}

const chosenModel = (): Model | undefined => models.find(({ id }) => id === model.value);

/** Shows the chosen model: its scores, their meaning, and questions for it. */
function showModel(): void {
  const chosen = chosenModel();
  if (!chosen) return;
  const methods = chosen.methods ?? METHODS;
  const value = colours.dataset.picked ? colours.value : (chosen.method ?? ALWAYS_THERE);
  colours.replaceChildren(
    ...methods.map((method) => {
      const { name, meaning } = METHOD_WORDS[method];
      return element('option', { value: method, title: meaning }, name);
    }),
  );
  if (methods.some((method) => method === value)) colours.value = value;
  byId('colours-field', HTMLElement).hidden = methods.length === 0;
  colourAnswers();
  settings.offer(methods);
  setText(byId('intro-scores', HTMLElement), introWords(chosen));
  byId('embedded', HTMLElement).hidden = !chosen.embedded;
  byId('single-turn', HTMLElement).hidden = !chosen.singleTurn;
  showExamples(chosen);
}

function colourAnswers(): void {
  if (isMethod(colours.value)) transcript.colourBy(colours.value);
}

const showView = (): void => transcript.showAs(view.value === 'formatted' ? 'formatted' : 'tokens');

const showSystem = (): void =>
  setText(byId('system-summary', HTMLElement), system.value.trim() === '' ? 'none' : system.value.trim());

function beginChat(): void {
  session.clear();
  history.clear();
  transcript.clear();
  problem = null;
  render();
  question.focus();
}

function restore(): void {
  restoring = true;
  for (const recording of history.recordings) session.open(recording);
  restoring = false;
}

/** Questions for the chosen model: below the introduction, and in short once that is gone. */
function showExamples(chosen: Model): void {
  const pairs = examplesFor(chosen).map(({ name, question: text }) => {
    const button = element(
      'button',
      { type: 'button', class: 'example' },
      element('span', { class: 'example-name' }, name),
      element('span', {}, text),
    );
    const chip = element('button', { type: 'button', class: 'chip', title: text }, name);
    for (const each of [button, chip]) {
      each.addEventListener('click', () => {
        if (ask(text)) question.focus();
      });
    }
    return { button, chip };
  });
  examples = pairs.flatMap(({ button, chip }) => [button, chip]);
  byId('examples', HTMLElement).replaceChildren(...pairs.map(({ button }) => button));
  chips.replaceChildren(...pairs.map(({ chip }) => chip));
  render();
}

function submit(): void {
  if (ask(question.value)) question.value = '';
  question.focus();
}

async function openRecording(): Promise<void> {
  const input = byId('recording', HTMLInputElement);
  const file = input.files?.[0];
  input.value = '';
  if (!file) return;
  try {
    session.open(fromLines(await file.text()));
  } catch (error) {
    problem = error instanceof Error ? `${file.name}: ${error.message}.` : String(error);
    render();
  }
}

byId('ask', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  submit();
});
question.addEventListener('keydown', (event) => {
  // Enter that ends a composition (Japanese, Chinese, Korean input) belongs to the text.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
});
stop.addEventListener('click', () => {
  session.stop();
  question.focus();
});
byId('retry', HTMLButtonElement).addEventListener('click', () => {
  problem = null;
  if (!server.retry()) void server.enter(key.value);
  render();
});
byId('recording', HTMLInputElement).addEventListener('change', () => void openRecording());

model.addEventListener('change', showModel);
colours.addEventListener('change', () => {
  colours.dataset.picked = 'true'; // it stays with other models
  colourAnswers();
});
view.addEventListener('change', showView);
system.addEventListener('input', showSystem);
newChat.addEventListener('click', beginChat);
window.addEventListener('pagehide', () => {
  if (session.current) history.add(recordingOf(session.current));
});

followTheme();
listenForShortcuts({ stop: () => session.stop() });
remembered(view, 'flinch.view');
remembered(system, 'flinch.system');
showView();
showSystem();
restore();
void server.enter(key.value);
question.focus();
