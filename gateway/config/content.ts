import { alternativesOf, at, type JsonSchema, jsonSchemaOf } from '../../src/files/field-hint.js';
import { HIDDEN, shownAddress } from '../../src/files/shown-address.js';
import { configSchema } from './gateway-config.js';

/**
 * What the texts of a field are, as its schema says under `content`, or that of a part around it:
 * - `plain`: a name, a path, a pattern: shown.
 * - `address`: shown without user, password and query.
 * - `receiver`: an address whose path may be a password, as those of chats are; shown without the path, too.
 * - `secretFile`: a path of a file that holds a secret: shown, but not what is in it.
 * - `hash`: not shown, though it may be read.
 *
 * Texts of a field that says nothing may be secrets. Choices (`enum`), numbers and booleans are plain.
 */
type Content = 'plain' | 'address' | 'receiver' | 'secretFile' | 'hash' | undefined;

interface Text {
  readonly text: string;
  readonly content: Content;
  readonly path: readonly PropertyKey[];
}

/** A configuration as it may be shown. */
export const shownConfig = (config: object): unknown => mapTexts(config, shownText);

/** The texts of a configuration that {@link shownConfig} shows otherwise, and the files with secrets that it names. */
export function secretsIn(config: object): {
  readonly inside: readonly Text[];
  readonly files: readonly Text[];
} {
  const texts: Text[] = [];
  mapTexts(config, (text) => texts.push(text));
  return {
    inside: texts.filter((each) => each.content !== 'hash' && shownText(each) !== each.text),
    files: texts.filter(({ content }) => content === 'secretFile'),
  };
}

function shownText({ text, content }: Text): string {
  if (content === 'plain' || content === 'secretFile') return text;
  if (content === 'address') return shownAddress(text);
  return content === 'receiver' ? shownAddress(text, { path: false }) : HIDDEN;
}

function mapTexts(config: object, map: (text: Text) => unknown): unknown {
  const of = (value: unknown, field: Field, path: readonly PropertyKey[]): unknown => {
    if (Array.isArray(value)) return value.map((item, i) => of(item, field.inner(0), [...path, i]));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([name, part]) => [name, of(part, field.inner(name), [...path, name])]),
      );
    return typeof value === 'string' ? map({ text: value, content: field.contentOf(value), path }) : value;
  };
  return of(config, new Field([jsonSchemaOf(configSchema)], undefined), []);
}

const CONTENTS = ['plain', 'address', 'receiver', 'secretFile', 'hash'] as const satisfies readonly Content[];

/** A field with the alternatives of its schema, which stand for the same. */
class Field {
  readonly #alternatives: readonly JsonSchema[];
  readonly #content: Content;
  readonly #inner = new Map<PropertyKey, Field>();

  constructor(schemas: readonly JsonSchema[], around: Content) {
    this.#alternatives = schemas.flatMap(alternativesOf);
    const said = this.#alternatives.flatMap(({ content }) => CONTENTS.filter((each) => each === content));
    this.#content = said[0] ?? around;
  }

  contentOf(text: string): Content {
    const choices = this.#alternatives.flatMap((schema) => schema.enum ?? schema.const ?? []);
    return choices.includes(text) ? 'plain' : this.#content;
  }

  inner(name: PropertyKey): Field {
    const known = this.#inner.get(name) ?? new Field(this.#alternatives.flatMap(at(name)), this.#content);
    this.#inner.set(name, known);
    return known;
  }
}
