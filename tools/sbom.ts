import { execFileSync } from 'node:child_process';
import { z } from 'zod';

/** npm marks what is installed for development alone. */
const DEVELOPMENT = 'cdx:npm:package:development';

const bill = z.looseObject({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.looseObject({ component: z.looseObject({}) }),
  components: z.array(
    z.looseObject({
      'bom-ref': z.string(),
      name: z.string(),
      purl: z.string(),
      properties: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
    }),
  ),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).default([]) })),
});

/** npm names packages of this repository after their folders: flinch-react would be React. */
const nameOf = (purl: string): string =>
  decodeURIComponent(purl.replace(/^pkg:npm\//, '').replace(/@[^@]*$/, ''));

/**
 * The bill of materials of all eight packages (CycloneDX 1.5, by `npm sbom`), without what is only needed to build and
 * test them. `npm sbom --omit dev` is not this: npm 11.19 leaves out what a package needs in both ways, such as `zod`.
 */
export function billOfMaterials() {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  // npm is no program of ours: it does not run from the sources.
  const env = { ...process.env, NODE_OPTIONS: '' };
  const text = execFileSync('npm', args, { encoding: 'utf8', env, maxBuffer: 1 << 26 });
  const { metadata, components, dependencies, ...rest } = bill.parse(JSON.parse(text));
  const development = new Set(
    components
      .filter(({ properties }) =>
        properties.some(({ name, value }) => name === DEVELOPMENT && value === 'true'),
      )
      .map((component) => component['bom-ref']),
  );
  const isKept = (ref: string): boolean => !development.has(ref);
  return {
    ...rest,
    metadata: { ...metadata, component: { ...metadata.component, name: 'flinch' } },
    components: components
      .filter((component) => isKept(component['bom-ref']))
      .map((component) => ({ ...component, name: nameOf(component.purl) })),
    dependencies: dependencies
      .filter(({ ref }) => isKept(ref))
      .map((each) => ({ ...each, dependsOn: each.dependsOn.filter(isKept) })),
  };
}

if (process.argv[1] === import.meta.filename) {
  process.stdout.write(`${JSON.stringify(billOfMaterials(), null, 2)}\n`);
}
