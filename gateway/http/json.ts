export type Json = Readonly<Record<string, unknown>>;

export const asObject = (value: unknown): Json | null => (isObject(value) ? value : null);

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
