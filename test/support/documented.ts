import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

interface Documented {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, unknown>>;
}
interface DocumentedRoute {
  readonly responses: Readonly<Record<string, Documented>>;
}
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedRoute>>>>;
}

/** Holds answers against the OpenAPI document. */
export interface DocumentCheck {
  /** What the document does not say of this answer; empty when it is as documented. `path` may have a query. */
  faultsOf(method: string, path: string, status: number, body: unknown): string[];
}

/** Members that the document does not name count as faults, although readers must allow for them (decision 1). */
export function createDocumentCheck(openApi: OpenApi): DocumentCheck {
  const document = structuredClone(openApi);
  closeObjects(document);
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  const compiled = new Map<string, ValidateFunction>();
  const paths = Object.keys(document.paths)
    // A literal path is matched before one with parameters, as the router does it.
    .sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
    .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }));

  function validator(pointer: string): ValidateFunction {
    let validate = compiled.get(pointer);
    if (!validate) {
      validate = ajv.compile({ $ref: `document#/${pointer}` });
      compiled.set(pointer, validate);
    }
    return validate;
  }

  return {
    faultsOf(method, target, status, body) {
      const bare = target.split('?')[0] ?? '';
      const path = paths.find(
        (candidate) => candidate.pattern.test(bare) && document.paths[candidate.path]?.[method.toLowerCase()],
      )?.path;
      if (path === undefined) return [];
      const response = document.paths[path]?.[method.toLowerCase()]?.responses[status];
      if (!response) {
        return [
          `${method} ${path} answered ${status}, which its route does not document: name the code in \`errors\``,
        ];
      }
      const at =
        response.$ref?.slice(2) ??
        ['paths', path, method.toLowerCase(), 'responses', status].map(escaped).join('/');
      const validate = validator(`${at}/content/application~1json/schema`);
      if (validate(body)) return [];
      return (validate.errors ?? []).map(
        (error) =>
          `${method} ${path} ${status}: ${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
      );
    },
  };
}

function escaped(part: string | number): string {
  return encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1'));
}

function closeObjects(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  if ('properties' in node && 'type' in node && node.type === 'object' && !('additionalProperties' in node)) {
    Object.assign(node, { additionalProperties: false });
  }
  for (const member of Object.values(node)) closeObjects(member);
}
