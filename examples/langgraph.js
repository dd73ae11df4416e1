/**
 * LangGraph with `flinch-langchain`: a node asks the model, and is run again, with another seed, until flinch judges the
 * answer and does not flag it. Of its steps one may be flagged: some right ones always are.
 *
 *   node examples/langgraph.js [URL] [QUESTION]
 */
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatFlinch, flinchOf } from 'flinch-langchain';
import { fail, readArguments } from './shared.js';

const { url, question } = readArguments();
const ATTEMPTS = 5;

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  attempts: Annotation({
    reducer: (/** @type {number} */ before, /** @type {number} */ made) => before + made,
    default: () => 0,
  }),
});

/** @param {typeof State.State} state */
async function ask({ messages, attempts }) {
  const model = new ChatFlinch({
    ...{ url, model: 'reasoner', temperature: 1, maxRetries: 0 },
    modelKwargs: { seed: attempts + 1 },
  });
  const answer = await model.invoke(messages.slice(0, 1));
  const { verdict, flagged } = flinchOf(answer) ?? {};
  const judged = verdict?.flagged === false ? 'not flagged' : verdict?.flagged ? 'flagged' : 'not judged';
  console.log(`Attempt ${attempts + 1}: answer ${judged}`);
  for (const { text, risk } of flagged ?? []) console.log(`  ⚑ risk ${risk?.toFixed(3)}: ${text.trim()}`);
  return { messages: [answer], attempts: 1 };
}

/** @param {typeof State.State} state */
function passes({ messages }) {
  const flinch = flinchOf(messages.at(-1) ?? { response_metadata: {} });
  // `null` is not clean.
  return flinch?.verdict.flagged === false;
}

const graph = new StateGraph(State)
  .addNode('ask', ask)
  .addEdge(START, 'ask')
  .addConditionalEdges('ask', (state) => (passes(state) || state.attempts === ATTEMPTS ? END : 'ask'), [
    'ask',
    END,
  ])
  .compile();

try {
  const state = await graph.invoke({ messages: [{ role: 'user', content: question }] });
  const passed = passes(state);
  console.log(passed ? `\n${state.messages.at(-1)?.text}` : `No answer passed in ${ATTEMPTS} attempts.`);
  process.exitCode = passed ? 0 : 1;
} catch (error) {
  fail(error);
}
