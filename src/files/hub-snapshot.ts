/** The name of the model whose snapshot in the cache of the Hugging Face hub a folder is; `null` for others. */
export const snapshotName = (folder: string): string | null =>
  /[\\/]models--[^\\/]+--([^\\/]+)[\\/]snapshots[\\/][^\\/]+$/.exec(folder)?.[1] ?? null;
