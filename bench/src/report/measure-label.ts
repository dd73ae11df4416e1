import { CONTROLS } from '../evaluate/case.js';

/** The paper's words where it has some. */
const METHOD_LABELS: ReadonlyMap<string, string> = new Map([
  ['nll', 'NLL'],
  ['entropy', 'Entropy'],
  ['margin', 'Margin'],
  ['tokur_eu', 'TokUR'],
  ['tokur_tu', 'TokUR total'],
  ['tokur_au', 'TokUR aleatoric'],
  ['random', 'Rand. Pert.'],
  ['adversarial', 'Adv. Pert.'],
  ['ccp', 'CCP'],
  ['ccp-rules', 'CCP by rules'],
  ['token_sar', 'TokenSAR'],
  ['token_sar-lexical', 'TokenSAR by words'],
  ['graph', 'Graph Uncert.'],
  ['graph-lexical', 'Graph Uncert. by words'],
  ['graph-claims', 'Graph Uncert. of claims'],
  ['self_consistency', 'SC'],
  ['chance', 'chance'],
  ['longest', 'longest first'],
  ['position', 'later first'],
  ['first', 'first tokens of steps'],
]);

const SETTING_LABELS: ReadonlyMap<string, string> = new Map([
  ['sigma', 'σ'],
  ['alpha', 'α'],
]);
const SAMPLES_LABELS: ReadonlyMap<string, string> = new Map([
  ['random', 'l'],
  ['self_consistency', 'N'],
]);

const settingLabel = (method: string, setting: string): string =>
  (setting === 'samples' ? SAMPLES_LABELS.get(method) : SETTING_LABELS.get(setting)) ?? setting;

const methodLabel = (method: string): string => METHOD_LABELS.get(method) ?? method;

/** One spelling for each number, a short one: `1e-6`, `0.01`. */
function settingValue(text: string): string {
  const value = Number(text);
  if (!Number.isFinite(value)) return text;
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value);
}

/** `l=20`, `block 8`. */
function settingText(method: string, setting: string, value: string): string {
  const label = settingLabel(method, setting);
  return `${label}${label === setting ? ' ' : '='}${settingValue(value)}`;
}

/** Label for the report: `adversarial:block=8,window=64` is Adv. Pert. (block 8, window 64). */
export function measureLabel(name: string): string {
  const { method, settings } = partsOf(name);
  const parts = [...settings].map(([key, value]) => (value === '' ? key : settingText(method, key, value)));
  return parts.length === 0 ? methodLabel(method) : `${methodLabel(method)} (${parts.join(', ')})`;
}

/** Measures that no other should be below. */
export const isControl = (measure: string): boolean => CONTROLS.includes(partsOf(measure).method);

/** The parts of a measure's name, which may be one that is not known here. */
export function partsOf(name: string): {
  readonly method: string;
  readonly settings: ReadonlyMap<string, string>;
} {
  const [method = '', ...rest] = name.split(':');
  const pairs = rest
    .join(':')
    .split(',')
    .filter((part) => part !== '');
  const settings = pairs.map((pair): [string, string] => {
    const [key = '', ...value] = pair.split('=');
    return [key, value.join('=')];
  });
  return { method, settings: new Map(settings) };
}
