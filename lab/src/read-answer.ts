import { readText } from 'flinch-client/protocol';

/** Bytes of a gateway's answers beside its streams: metrics of many models have some hundred kilobytes. */
const MOST_BYTES = 16 << 20;

export const readAnswer = ({ body }: Response): Promise<string> => readText(body, MOST_BYTES);
