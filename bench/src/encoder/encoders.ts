import type { Relation } from '../baselines/ccp.js';
import { Encoder, type EncoderOptions } from './encoder.js';
import type { EncoderUse } from './encoder-folder.js';

const USES = ['nli', 'similarity', 'sentence'] as const satisfies EncoderUse[];

export type TextPair = readonly [string, string];

/** Models of language that measures ask beside the one that writes; `null` where none is given. */
export interface Encoders {
  /** Relation of the first text of each pair to the second: natural language inference. */
  readonly relate: ((pairs: readonly TextPair[]) => Promise<Relation[]>) | null;
  /** How alike the texts of each pair are in meaning, 0 to 1: a cross-encoder. */
  readonly compare: ((pairs: readonly TextPair[]) => Promise<number[]>) | null;
  /** A vector of length 1 for each text, `[text][dimension]`. */
  readonly embed: ((texts: readonly string[]) => Promise<number[][]>) | null;
}

/** Folders in the layout of Transformers.js. */
export interface EncoderFolders {
  /** Such as microsoft/deberta-large-mnli. */
  readonly nli?: string;
  /** Such as cross-encoder/stsb-roberta-large. */
  readonly similarity?: string;
  /** Such as sentence-transformers/all-MiniLM-L6-v2. */
  readonly sentence?: string;
}

export interface OpenEncoders extends Encoders {
  /** Folder, file and fingerprint of each model that is there, for the settings of a run. */
  readonly names: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export interface OpenOptions extends EncoderOptions {
  /** Error to throw instead of one of a model: it may say which option named the model. */
  readonly fault?: (use: EncoderUse, error: unknown) => unknown;
}

/**
 * Opens the given models, each in a process of its own, and starts them, so that errors are reported at once.
 * @throws ModelError that names file and field; EngineError `unavailable`, whose message does
 */
export async function openEncoders(
  folders: EncoderFolders,
  { fault = (_, error) => error, ...options }: OpenOptions = {},
): Promise<OpenEncoders> {
  const naming = <T>(use: EncoderUse, work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw fault(use, error);
    });
  const open = async (use: EncoderUse, folder: string) => ({
    use,
    encoder: await naming(use, Encoder.open(folder, use, options)),
  });
  const given = USES.map((use) => [use, folders[use]] as const);
  const opened = await Promise.all(
    given.flatMap(([use, folder]) => (folder === undefined ? [] : open(use, folder))),
  );
  const close = async (): Promise<void> => {
    await Promise.all(opened.map(({ encoder }) => encoder.close()));
  };
  try {
    await Promise.all(opened.map(({ use, encoder }) => naming(use, encoder.start())));
  } catch (error) {
    await close();
    throw error;
  }
  const [nli, similarity, sentence] = USES.map((use) => opened.find((one) => one.use === use)?.encoder);
  return {
    relate: nli ? relateBy(nli) : null,
    compare: similarity ? compareBy(similarity) : null,
    embed: sentence ? embedBy(sentence) : null,
    names: Object.fromEntries(opened.map(({ use, encoder }) => [use, nameOf(encoder)])),
    close,
  };
}

const nameOf = ({ folder }: Encoder): string => `${folder.name} ${folder.fingerprint}`;

/** The most likely label of each pair. Words come again and again: no pair is asked about twice. */
function relateBy(nli: Encoder): NonNullable<Encoders['relate']> {
  const { relations } = nli.folder;
  const known = new Map<string, Relation>();
  return async (pairs) => {
    const keys = pairs.map((pair) => JSON.stringify(pair));
    const asked = [...new Map(pairs.map((pair, i) => [keys[i]!, pair]))].filter(([key]) => !known.has(key));
    const rows = await nli.encode(asked.map(([, pair]) => pair));
    for (const [i, logits] of rows.entries()) {
      known.set(asked[i]![0], relations[logits.indexOf(Math.max(...logits))]!);
    }
    return keys.map((key) => known.get(key)!);
  };
}

const compareBy =
  (similarity: Encoder): NonNullable<Encoders['compare']> =>
  async (pairs) => {
    const rows = await similarity.encode(pairs);
    return rows.map(([logit]) => 1 / (1 + Math.exp(-logit!)));
  };

const embedBy =
  (sentence: Encoder): NonNullable<Encoders['embed']> =>
  async (texts) => {
    const rows = await sentence.encode(texts.map((text) => [text] as const));
    return rows.map((row) => [...row]);
  };
