// The list of answers.html: nothing is loaded, and all texts are set as texts.

const { file, measure, answers } = JSON.parse(document.getElementById('answers').textContent);

const SIGNS = { right: '✓ right', wrong: '✗ wrong', unsure: '? unsure' };
const SOURCES = {
  rules: 'by a rule',
  program: 'by a program',
  judge: 'by a judge',
  labels: 'came with the answer',
  people: 'by people',
};
/** Answers that are shown at once. */
const PAGE = 50;

/** Labels that were chosen here, by id. */
const chosen = new Map();
let saved = true;
let shown = PAGE;

const byId = (id) => document.getElementById(id);
const [search, filter, sort, list, count, more, save] = [
  'search',
  'filter',
  'sort',
  'list',
  'count',
  'more',
  'save',
].map(byId);

function element(name, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

const labelOf = ({ id, label }) => chosen.get(id) ?? label;

function matching() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = answers.filter((answer) => {
    if (
      filter.value === 'chosen'
        ? !chosen.has(answer.id)
        : filter.value !== 'all' && filter.value !== labelOf(answer)
    )
      return false;
    return words.every((word) => answer.searched.includes(word));
  });
  if (sort.value === 'surprising') return found;
  const sign = sort.value === 'highest' ? -1 : 1;
  const key = ({ score }) => (score === null ? Number.POSITIVE_INFINITY : sign * score);
  return found.toSorted((a, b) => key(a) - key(b));
}

function tokens({ texts, shades, ranks, wrong }) {
  const [from, to] = wrong ?? [0, 0];
  return texts.map((text, i) => {
    const classes = [
      't',
      shades[i] === '-' ? 'unscored' : `h${shades[i]}`,
      i >= from && i < to ? 'wrong' : '',
    ];
    const span = element('span', { class: classes.join(' ').trim(), text });
    if (ranks[i]) span.append(element('sup', { text: String(ranks[i]) }));
    return span;
  });
}

function labels(answer) {
  const buttons = element('span', { class: 'labels', role: 'group', 'aria-label': 'label' });
  const source = element('small');
  const update = () => {
    for (const button of buttons.children)
      button.setAttribute('aria-pressed', String(button.value === labelOf(answer)));
    const { id, label, by } = answer;
    source.textContent = chosen.has(id) ? `by you; was ${label}, ${SOURCES[by]}` : SOURCES[by];
  };
  for (const [label, text] of Object.entries(SIGNS)) {
    const button = element('button', { type: 'button', value: label, text });
    button.addEventListener('click', () => {
      if (chosen.get(answer.id) === label) chosen.delete(answer.id);
      else chosen.set(answer.id, label);
      saved = chosen.size === 0;
      update();
      tell();
    });
    buttons.append(button);
  }
  update();
  return element('p', { class: 'label' }, buttons, ' ', source);
}

function card(answer) {
  const { id, group, question, reference, extracted, score } = answer;
  const row = (name, ...content) => [
    element('dt', { text: name }),
    element('dd', { dir: 'auto' }, ...content),
  ];
  return element(
    'article',
    { class: 'case' },
    element(
      'h3',
      {},
      element('bdi', { text: id }),
      ' ',
      element('small', { text: `${group}; score ${score === null ? 'none' : score.toPrecision(3)}` }),
    ),
    labels(answer),
    element(
      'dl',
      {},
      ...row('Question', element('span', { class: 'prose', text: question })),
      ...row('Right answer', reference ?? 'none'),
      ...(extracted === null ? [] : row('Read as', element('bdi', { text: extracted }))),
      ...row('Answer', element('span', { class: 'tokens' }, ...tokens(answer))),
    ),
  );
}

function tell() {
  save.disabled = chosen.size === 0;
  save.textContent = chosen.size === 1 ? 'Save 1 label' : `Save ${chosen.size} labels`;
}

function show() {
  const found = matching();
  list.replaceChildren(...found.slice(0, shown).map(card));
  count.textContent = `${found.length} of ${answers.length} answers`;
  more.hidden = shown >= found.length;
}

function restart() {
  shown = PAGE;
  show();
}

search.addEventListener('input', restart);
filter.addEventListener('change', restart);
sort.addEventListener('change', restart);
more.addEventListener('click', () => {
  shown += PAGE;
  show();
});
save.addEventListener('click', () => {
  const lines = answers
    .filter(({ id }) => chosen.has(id))
    .map(({ id, texts }) => JSON.stringify({ id, label: chosen.get(id), response: texts.join('') }));
  const href = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'application/jsonl' }));
  element('a', { href, download: file }).click();
  URL.revokeObjectURL(href);
  saved = true;
});
addEventListener('beforeunload', (event) => {
  if (!saved) event.preventDefault();
});

for (const answer of answers)
  answer.searched = [
    answer.id,
    answer.group,
    answer.question,
    answer.reference,
    ...answer.texts.join('').split('\n'),
  ]
    .join('\n')
    .toLowerCase();
byId('measure').textContent = measure;
byId('controls').hidden = false;
tell();
show();
