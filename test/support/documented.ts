import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

interface DocumentedAnswer {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, { readonly $ref?: string; readonly required?: boolean }>>;
}
interface DocumentedRoute {
  readonly responses: Readonly<Record<string, DocumentedAnswer>>;
}
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedRoute>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, { readonly required?: boolean }>>;
    readonly responses: Readonly<Record<string, DocumentedAnswer>>;
  };
}

interface AnswerToCheck {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Compares answers with the OpenAPI document. */
export interface DocumentCheck {
  /** Returns how an answer differs from its documentation. `path` may contain a query. */
  faultsOf(method: string, path: string, answer: AnswerToCheck): string[];
}

const ANY_ERROR = {
  oneOf: ['AccessError', 'RequestError'].map((name) => ({ $ref: `document#/components/schemas/${name}` })),
};

/** A member that the document does not name counts as a fault in tests, although clients must accept it (R1). */
export function createDocumentCheck(openApi: object): DocumentCheck {
  const document = structuredClone(openApi) as OpenApi;
  closeObjects(document);
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  const compiled = new Map<string, ValidateFunction>();
  const paths = Object.keys(document.paths)
    // Sort literal paths before paths with parameters, because the router matches in that order.
    .sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
    .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }));

  function faultsOfBody(at: string, schema: object, body: unknown): string[] {
    const validate = compiled.get(at) ?? ajv.compile(schema);
    compiled.set(at, validate);
    if (validate(body)) return [];
    return (validate.errors ?? []).map(
      (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
    );
  }

  return {
    faultsOf(method, target, { status, headers, body }) {
      const bare = target.split('?')[0] ?? '';
      const verb = method.toLowerCase();
      const path = paths.find(
        ({ path, pattern }) => pattern.test(bare) && document.paths[path]?.[verb],
      )?.path;
      if (path === undefined) {
        return status >= 400 && body !== undefined ? faultsOfBody('any error', ANY_ERROR, body) : [];
      }
      const documented = document.paths[path]?.[verb]?.responses[status];
      if (!documented) return [`${status} is not documented: name the code in the route's \`errors\``];
      const pointer =
        documented.$ref?.slice(2) ??
        ['paths', path, verb, 'responses', String(status)].map(escaped).join('/');
      const answer = documented.$ref
        ? document.components.responses[documented.$ref.split('/').at(-1) ?? '']
        : documented;
      const missing = Object.entries(answer?.headers ?? {})
        .filter(([name, header]) => (header.$ref ? document.components.headers[name] : header)?.required)
        .map(([name]) => name)
        .filter((name) => !headers.has(name));
      const media = headers.get('content-type')?.startsWith('text/csv') ? 'text~1csv' : 'application~1json';
      const schema = { $ref: `document#/${pointer}/content/${media}/schema` };
      return [
        ...missing.map((name) => `there is no ${name} header`),
        ...faultsOfBody(`${pointer} ${media}`, schema, body),
      ];
    },
  };
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function closeObjects(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  if ('properties' in node && 'type' in node && node.type === 'object' && !('additionalProperties' in node)) {
    Object.assign(node, { additionalProperties: false });
  }
  for (const member of Object.values(node)) closeObjects(member);
}
