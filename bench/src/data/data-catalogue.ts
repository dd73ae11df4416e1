import type { SuiteName } from '../suites/suite.js';

/** A file of a data set, and how to know that it is the right one. */
export interface DataFile {
  /** Name in the folder of its suite. */
  readonly name: string;
  /** Address at its origin, at a pinned revision. */
  readonly url: string;
  /** `null` where it is not known in advance. */
  readonly bytes: number | null;
  readonly sha256: string | null;
  /**
   * Check of a file without a known checksum: @throws UsageError if its contents are not those of the data
   * set.
   */
  readonly check?: (text: string) => Promise<void>;
}

/** Limit for a file of unknown size. The largest known file has 3 MB. */
export const MOST_BYTES = 64 << 20;

export interface DataSet {
  readonly suite: SuiteName;
  readonly title: string;
  readonly licence: string;
  readonly source: string;
  readonly note?: string;
  readonly files: readonly DataFile[];
}

const GITHUB = 'https://raw.githubusercontent.com';
const BBH = `${GITHUB}/suzgunmirac/BIG-Bench-Hard/9ee07bd481feebf959a6b59d61ea57bdcf30964d/bbh/`;
const QWEN_MATH = `${GITHUB}/QwenLM/Qwen2.5-Math/a45202bd16f1ec06f433442dc1152d0074773465/evaluation/data/`;
const PROCESSBENCH = `${GITHUB}/QwenLM/ProcessBench/2f2fd8ae590aeb949f7be265478b05280f93db68/dataset/`;
const ICD = `${GITHUB}/HillZhang1999/ICD/20ee87accc12012dd06e7962623f0dbb0785af69/data/factscore/`;
/** The file is in Git LFS, whose name for it is its SHA-256. */
const PRM800K =
  'https://media.githubusercontent.com/media/openai/prm800k/7ecc794703b2877f63226f2477a49b34f9b25163/prm800k/math_splits/';

/** Read late: a list of the data sets needs no parser of answers. */
const contents = () => import('./contents.js');

/** A file with the same name as at its origin. */
const from =
  (folder: string) =>
  (name: string, bytes: number, sha256: string): DataFile => ({
    name,
    url: folder + name,
    bytes,
    sha256,
  });
const bbh = from(BBH);
const processbench = from(PROCESSBENCH);

/** All that `flinch data pull` knows; none of it is part of flinch. */
export const DATA_SETS: readonly DataSet[] = [
  {
    suite: 'math',
    title: 'MATH, test set, and MATH-500',
    licence: 'MIT',
    source: 'hendrycks/math by way of QwenLM/Qwen2.5-Math; openai/prm800k',
    files: [
      {
        name: 'test.jsonl',
        url: `${QWEN_MATH}math/test.jsonl`,
        bytes: null,
        sha256: null,
        check: async (text) => (await contents()).checkMathTest(text),
      },
      {
        name: 'math500.jsonl',
        url: `${PRM800K}test.jsonl`,
        bytes: 446564,
        sha256: '35dc41080a3680858b27fa7e0533d2d547825316fc5dafe5d316f4ccc5a06132',
      },
    ],
  },
  {
    suite: 'bbh',
    title: 'BIG-Bench Hard, 11 tasks',
    licence: 'MIT',
    source: 'suzgunmirac/BIG-Bench-Hard',
    note: 'Its authors ask that it never appear in training corpora.',
    files: [
      bbh(
        'formal_fallacies.json',
        145562,
        '4c1adb664821157faade1d4153685403afcc02648f3c180a608a18f17f589629',
      ),
      bbh(
        'logical_deduction_five_objects.json',
        155477,
        'd2df31394b903b7f0e085d42a69572a092987856eac076799017d70ef266fa8f',
      ),
      bbh(
        'logical_deduction_seven_objects.json',
        198404,
        '2896c7e3482eea318dd37bcc370d24ec3cc91e8374c1784287b5dbd38a529e33',
      ),
      bbh(
        'logical_deduction_three_objects.json',
        112213,
        'e590fae72e3a6041fbd23bd8ff6b74baf44ca563f6ba40a041c55e7b867c1681',
      ),
      bbh('navigate.json', 55163, 'b7944dfd3c81da5c4815bd75b00d6fa3c64140823498e78ed496f4c3d36f7f0d'),
      bbh(
        'reasoning_about_colored_objects.json',
        98694,
        '0a8850cf95166020fce7a78244026ceedd7ea839302471512b4f8744e85a6a49',
      ),
      bbh(
        'temporal_sequences.json',
        148176,
        '92a1189faaa84aacc4c405aaa13f13f48c2992eb884772eedb622505252baef5',
      ),
      bbh(
        'tracking_shuffled_objects_five_objects.json',
        169722,
        '2063a46a4fb484236ed4310523606543a3e1dd4a4dc34eda65d407910ece25a5',
      ),
      bbh(
        'tracking_shuffled_objects_seven_objects.json',
        214906,
        'b59fd05b850c37cf57cb514ae1e6975c00b1638ade2291722056b2af3c54084d',
      ),
      bbh(
        'tracking_shuffled_objects_three_objects.json',
        128736,
        '546cc7bf10c6a01a6a4c17ae28a4966485f21f29fd5d111f37858ec78e354f6b',
      ),
      bbh('web_of_lies.json', 52964, '3e60323f8514a107fdb4edf35f8832a9171c5a09c0eaa47823559de905e8ab8b'),
    ],
  },
  {
    suite: 'gsm8k',
    title: 'GSM8K, test set',
    licence: 'MIT',
    source: 'openai/grade-school-math by way of QwenLM/Qwen2.5-Math',
    files: [
      from(`${QWEN_MATH}gsm8k/`)(
        'test.jsonl',
        761421,
        '9f098df7ff4522078d6ccec27a5c38a454790fdb51131bedfaa0e490070d5394',
      ),
    ],
  },
  {
    suite: 'processbench',
    title: 'ProcessBench',
    licence: 'Apache-2.0',
    source: 'QwenLM/ProcessBench',
    files: [
      processbench('gsm8k.json', 574343, 'fb1c59dfd1e83e1c5a48dbe598db27e4bc0b8bc524a09445f2d4b69178f61349'),
      processbench('math.json', 1938778, '520ae64463d6ceb4bf13af31693389a5d5b14934cdad3468193dea4a5ceb0414'),
      processbench(
        'olympiadbench.json',
        2808955,
        'e9d801c9f3c03f949adbfa08e90cb21ad85c0b9224bc5e98326f8215c218aa55',
      ),
      processbench(
        'omnimath.json',
        2842872,
        'e8d7cf4512c82168dae2fe48b1718069a3002e7910af1d180a27ee0d9948ba47',
      ),
    ],
  },
  {
    suite: 'factscore',
    title: "FActScore's 500 entities without labels",
    licence: 'MIT',
    source: 'shmsw25/FActScore by way of HillZhang1999/ICD',
    files: [
      {
        name: 'prompt_entities.txt',
        url: `${ICD}prompt_entities.txt`,
        bytes: null,
        sha256: null,
        check: async (text) => (await contents()).checkEntities(text),
      },
    ],
  },
];
