import { UsageError } from '../files/file-errors.js';

/** A model on the Hugging Face hub, at a branch, a tag or a commit. */
export interface HubModel {
  /** `owner/name` */
  readonly id: string;
  readonly revision: string;
}

const PART = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?$/;
const REVISION = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/;

/** @returns `null` for what is no `OWNER/NAME` or `OWNER/NAME@REVISION` */
export function asHubModel(text: string): HubModel | null {
  const [id = '', revision = 'main', ...more] = text.split('@');
  const parts = id.split('/');
  const named = parts.length === 2 && parts.every((part) => PART.test(part) && !part.includes('..'));
  if (!named || more.length > 0 || !REVISION.test(revision) || revision.includes('..')) return null;
  return { id, revision };
}

/** @throws UsageError */
export function parseHubModel(text: string): HubModel {
  const model = asHubModel(text);
  if (!model)
    throw new UsageError(`${text}: is no model of the hub; expected OWNER/NAME or OWNER/NAME@REVISION`);
  return model;
}
