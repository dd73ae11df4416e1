import { Connection, type ConnectionState } from './connection.js';
import { byId, element, setText } from './dom.js';
import { EXAMPLES } from './examples.js';
import { listModels } from './models.js';
import { METHODS } from './protocol.js';
import { Session } from './session.js';
import { Transcript } from './transcript.js';
import { METHOD_WORDS } from './words.js';

const question = byId('question', HTMLTextAreaElement);
const send = byId('send', HTMLButtonElement);
const stop = byId('stop', HTMLButtonElement);
const model = byId('model', HTMLSelectElement);
const temperature = byId('temperature', HTMLInputElement);
const remember = byId('remember', HTMLInputElement);
const chips = byId('chips', HTMLElement);
const intro = byId('intro', HTMLElement);
const notice = byId('notice', HTMLElement);
const examples: HTMLButtonElement[] = [];

let connection: ConnectionState['status'] = 'connecting';
/** Why there is no connection; kept until there is one, so that the notice does not blink with every attempt. */
let lost: string | null = null;
let problem: string | null = null;

const transcript = new Transcript(
  byId('scroller', HTMLElement),
  byId('transcript', HTMLElement),
  byId('announcer', HTMLElement),
  METHODS[0],
  ask,
);

const socket = new Connection(socketUrl(), {
  state: (state) => {
    connection = state.status;
    if (state.status === 'waiting') {
      lost = `${state.reason} Reconnecting…`;
      session.fail(`${state.reason} The rest of this answer is lost.`);
    }
    if (state.status === 'open') lost = null;
    if (state.status === 'open' && model.options.length === 0) void loadModels();
    render();
  },
  event: (event) => session.receive(event),
  malformed: (error) => {
    console.error(error.message, error.evidence);
    session.fail(`The answer cannot be trusted: ${error.message}.`);
  },
});

const session = new Session(
  (message) => socket.send(message),
  () => performance.now(),
  {
    changed: (exchange) => {
      transcript.show(exchange);
      render();
    },
    notice: (words) => {
      problem = words;
      render();
    },
  },
);

/** Sends a question, unless an answer is under way or a setting is not valid: then it stays in its box. */
function ask(text: string): boolean {
  if (!ready() || text.trim() === '') return false;
  if (!temperature.reportValidity()) return false;
  problem = null;
  session.ask(text.trim(), {
    model: model.value,
    remember: remember.checked,
    ...(temperature.value === '' ? {} : { temperature: temperature.valueAsNumber }),
  });
  return true;
}

function ready(): boolean {
  return connection === 'open' && model.value !== '' && session.current === null;
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

  const words = { connecting: 'Connecting', open: 'Connected', waiting: 'Not connected' }[connection];
  byId('connection', HTMLElement).dataset.status = connection;
  setText(byId('connection-words', HTMLElement), words);
  notice.hidden = (lost ?? problem) === null;
  setText(byId('notice-words', HTMLElement), lost ?? problem ?? '');
}

async function loadModels(): Promise<void> {
  try {
    const ids = await listModels(new URL('v1/models', document.baseURI));
    model.replaceChildren(...ids.map((id) => element('option', { value: id }, id)));
    model.disabled = false;
    problem = null;
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  render();
}

function socketUrl(): URL {
  const url = new URL('v1/stream', document.baseURI);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

function addMethods(): void {
  for (const method of METHODS) {
    const radio = element('input', { type: 'radio', name: 'method', value: method });
    radio.checked = method === METHODS[0];
    radio.addEventListener('change', () => transcript.colourBy(method));
    const { name, meaning } = METHOD_WORDS[method];
    byId('methods', HTMLElement).append(
      element('label', { title: meaning }, radio, element('span', { class: 'choice' }, name)),
    );
  }
}

function addExamples(): void {
  for (const { name, question: text } of EXAMPLES) {
    const button = element(
      'button',
      { type: 'button', class: 'example' },
      element('span', { class: 'example-name' }, name),
      element('span', {}, text),
    );
    // Once the introduction is gone, the same in short.
    const chip = element('button', { type: 'button', class: 'chip', title: text }, name);
    for (const each of [button, chip]) {
      each.addEventListener('click', () => {
        if (ask(text)) question.focus();
      });
    }
    examples.push(button, chip);
    byId('examples', HTMLElement).append(button);
    chips.append(chip);
  }
}

function submit(): void {
  if (ask(question.value)) question.value = '';
  question.focus();
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
  socket.open();
  if (model.options.length === 0) void loadModels();
  render();
});

addMethods();
addExamples();
socket.open();
void loadModels();
question.focus();
