/**
 * Makes the reference of the REST API from schema/openapi.json: a page for each tag, with code samples and a form to
 * try each request.
 */
import { readFileSync } from 'node:fs';
import { nameOf } from '../../sdk/python.js';
import { readTable } from '../../sdk/table.js';
import { codeTabs, escapeHtml, renderInline, renderText, slugOf } from './markdown.js';

const SECTION = 'API reference';
/** Greatest depth of fields that are listed. Of deeper fields only the type is named. */
const MAX_DEPTH = 4;

export function referencePages() {
  const document = JSON.parse(readFileSync('schema/openapi.json', 'utf8'));
  const methods = sdkMethods();
  const pages = document.tags.map(({ name }) => tagPage(document, name, methods));
  const rows = pages.flatMap(({ path, operations }) =>
    operations.map(
      ({ id, method, route, summary }) => `| [${summary}](/docs/${path}#${id}) | \`${method} ${route}\` |`,
    ),
  );
  const markdown = `# API reference

Every operation of the REST API. Paths are below \`/api/v1\`; requests and answers are JSON in UTF-8.

- Each request carries a key in \`X-Api-Key\`: [Authentication and signing](/docs/authentication).
- \`X-Request-Id\` is yours or made here, and is on every answer. The three \`X-RateLimit-*\` headers are too: [Limits](/docs/limits).
- Answers may gain members. Unknown members of a request are ignored.
- [openapi.json](/api/v1/openapi.json) is the same as an OpenAPI 3.1 document.

| operation | request |
|---|---|
${rows.join('\n')}
`;
  return [
    page('api', SECTION, 'Every operation of the REST API.', markdown, renderText(markdown), []),
    ...pages,
  ];
}

const page = (
  path,
  title,
  summary,
  markdown,
  html,
  headings,
  sections = [{ id: '', heading: '', text: summary }],
) => ({
  ...{ path, title, summary, section: SECTION, isListed: true, markdown, html, headings, sections },
});

/** Returns the SDK's method for each operation, by HTTP method and path. */
function sdkMethods() {
  const found = new Map();
  for (const { name: resource, operations } of readTable().resources) {
    for (const operation of operations) {
      found.set(`${operation.method} ${operation.path}`, { ...operation, resource });
    }
  }
  return found;
}

function tagPage(document, tag, methods) {
  const operations = Object.entries(document.paths).flatMap(([route, item]) =>
    ['get', 'post', 'put', 'delete']
      .filter((method) => item[method]?.tags.includes(tag))
      .map((method) => readOperation(document, route, method.toUpperCase(), item[method], methods)),
  );
  const title = tag;
  const summary = `${operations.map((operation) => operation.summary).join(', ')}.`;
  return {
    ...page(
      `api/${slugOf(tag)}`,
      title,
      summary,
      `# ${title}\n\n${operations.map(operationMarkdown).join('\n')}`,
      `<h1>${escapeHtml(title)}</h1>${operations.map(operationHtml).join('')}`,
      operations.map((operation) => ({ id: operation.id, heading: operation.summary })),
      operations.map((operation) => ({
        id: operation.id,
        heading: operation.summary,
        text: `${operation.method} ${operation.route} ${operation.description} ${operation.body.map(({ name }) => name).join(' ')}`,
      })),
    ),
    operations,
  };
}

function readOperation(document, route, method, operation, methods) {
  const resolve = (node) =>
    node?.$ref
      ? node.$ref
          .slice(2)
          .split('/')
          .reduce((at, name) => at[name], document)
      : node;
  const parameters = (operation.parameters ?? []).map(resolve);
  const content = operation.requestBody && resolve(operation.requestBody).content['application/json'];
  const status = [200, 201, 202].find((each) => operation.responses[each]);
  const success = resolve(operation.responses[status]);
  const answer = success.content['application/json'];
  const example = content && (Object.values(content.examples ?? {})[0]?.value ?? {});
  const facts = {
    id: operation.operationId,
    method,
    route,
    summary: operation.summary,
    description: operation.description ?? '',
    parameters,
    body: content ? membersOf(document, content.schema) : [],
    hasBody: content !== undefined,
    example,
    status,
    answer: membersOf(document, answer.schema),
    errors: errorsOf(operation.responses, resolve),
  };
  return { ...facts, samples: samplesOf(facts, methods.get(`${method} ${route}`)) };
}

/**
 * Returns the error codes of an operation with their statuses. The codes are the enum values of its documented errors.
 */
function errorsOf(responses, resolve) {
  return Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([status, given]) => {
      const text = JSON.stringify(resolve(given).content?.['application/json'] ?? {});
      const codes = [...text.matchAll(/"(?:enum)":\[([^\]]*)\]|"const":"(\w+)"/g)].flatMap(([, list, one]) =>
        one ? [one] : [...list.matchAll(/"(\w+)"/g)].map(([, code]) => code),
      );
      return [...new Set(codes)].map((code) => ({ status, code }));
    });
}

/** Lists the fields of a schema with their types, constraints and nested fields. */
function membersOf(document, schema, depth = 0) {
  const found = flattened(document, schema);
  const inner = found.type === 'array' ? flattened(document, found.items ?? {}) : found;
  if (!inner.properties || depth >= MAX_DEPTH) return [];
  return Object.entries(inner.properties).map(([name, given]) => {
    const member = flattened(document, given);
    return {
      name,
      type: typeOf(document, given),
      isRequired: inner.required?.includes(name) ?? false,
      description: given.description ?? member.description ?? '',
      limits: limitsOf(member),
      members: membersOf(document, given, depth + 1),
    };
  });
}

/**
 * Resolves references and merges the parts of a schema. Of several alternatives it uses the first that is an object.
 */
function flattened(document, schema) {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1);
    return flattened(document, document.components.schemas[name]);
  }
  if (schema.allOf) {
    const parts = schema.allOf.map((part) => flattened(document, part));
    return {
      ...schema,
      ...Object.assign({}, ...parts),
      properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
      required: parts.flatMap(({ required }) => required ?? []),
    };
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) {
    const read = choices.map((choice) => flattened(document, choice));
    return { ...schema, ...(read.find(({ properties, items }) => properties ?? items) ?? {}) };
  }
  return schema;
}

function typeOf(document, schema) {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((choice) => typeOf(document, choice)))].join(' or ');
  const found = flattened(document, schema);
  if (Array.isArray(found.type)) return found.type.join(' or ');
  if (found.type === 'array') return `array of ${typeOf(document, found.items ?? {})}`;
  if (found.const !== undefined) return JSON.stringify(found.const);
  return found.type ?? 'any';
}

function limitsOf({
  enum: values,
  minLength,
  maxLength,
  minimum,
  maximum,
  minItems,
  maxItems,
  default: preset,
  format,
}) {
  const says = [];
  if (values) says.push(`One of ${values.map((value) => `\`${value}\``).join(', ')}.`);
  if (format) says.push(`Format \`${format}\`.`);
  const range = (low, high, what) => {
    if (low !== undefined && high !== undefined) says.push(`${low} to ${high}${what}.`);
    else if (high !== undefined) says.push(`At most ${high}${what}.`);
    else if (low !== undefined && low > -Number.MAX_SAFE_INTEGER) says.push(`At least ${low}${what}.`);
  };
  range(minLength, maxLength, ' characters');
  range(minItems, maxItems, ' entries');
  if (maximum === undefined || maximum < Number.MAX_SAFE_INTEGER) range(minimum, maximum, '');
  if (preset !== undefined) says.push(`Default \`${JSON.stringify(preset)}\`.`);
  return says.join(' ');
}

/** A value for a path parameter in a sample. */
const PLACEHOLDERS = { keyId: 'KEY_ID', deliveryId: 'DELIVERY_ID', address: '+256700123499' };
const placeholder = (name) => PLACEHOLDERS[name] ?? 'ID';

function samplesOf({ method, route, parameters, example, hasBody }, sdk) {
  const inPath = parameters.filter((each) => each.in === 'path').map(({ name }) => name);
  const needed = parameters.filter((each) => each.in === 'query' && each.required);
  const query = Object.fromEntries(
    needed.map(({ name, schema, example: given }) => [
      name,
      given ?? schema.examples?.[0] ?? '+256700123456',
    ]),
  );
  const hasQuery = needed.length > 0;
  const filled = route.replaceAll(/\{(\w+)\}/g, (_, name) => placeholder(name));
  const search = hasQuery ? `?${new URLSearchParams(query)}` : '';
  const data = hasBody
    ? ` \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`
    : '';
  const verb = method === 'GET' || (method === 'POST' && hasBody) ? '' : ` -X ${method}`;
  const curl = `curl${verb} "$GATEWAY_URL/api/v1${filled}${search}" \\\n  -H "X-Api-Key: $GATEWAY_API_KEY"${data}\n`;
  const given = hasBody ? example : hasQuery ? query : undefined;
  const call = [
    ...inPath.map((name) => `'${placeholder(name)}'`),
    ...(given ? [typescriptValue(given)] : []),
  ];
  const ts = `const answer = await gateway.${sdk.resource}.${sdk.name}(${call.join(', ')});\n`;
  const words = given
    ? Object.entries(given)
        .filter(([name]) => name !== 'idempotencyKey')
        .map(([name, value]) => `${nameOf(name)}=${pythonValue(value)}`)
    : [];
  if (given?.idempotencyKey) words.push(`idempotency_key=${pythonValue(given.idempotencyKey)}`);
  const python = `answer = gateway.${sdk.resource}.${nameOf(sdk.name)}(${[...inPath.map((name) => `"${placeholder(name)}"`), ...words].join(', ')})\n`;
  return [
    { language: 'sh', code: curl },
    { language: 'ts', code: ts },
    { language: 'python', code: python },
    { language: 'php', code: phpSample(method, `${filled}${search}`, hasBody ? example : undefined) },
  ];
}

/** There is no SDK for PHP: the sample uses the extension that PHP itself comes with. */
function phpSample(method, target, body) {
  const type = body === undefined ? '' : ", 'Content-Type: application/json'";
  return [
    `$curl = curl_init(getenv('GATEWAY_URL') . ${phpValue(`/api/v1${target}`)});`,
    'curl_setopt_array($curl, [',
    `    CURLOPT_CUSTOMREQUEST => '${method}',`,
    '    CURLOPT_RETURNTRANSFER => true,',
    `    CURLOPT_HTTPHEADER => ['X-Api-Key: ' . getenv('GATEWAY_API_KEY')${type}],`,
    ...(body === undefined ? [] : [`    CURLOPT_POSTFIELDS => json_encode(${phpValue(body)}),`]),
    ']);',
    '$answer = curl_exec($curl);',
    '',
  ].join('\n');
}

const typescriptValue = (value) =>
  JSON.stringify(value, null, 2)
    .replaceAll(/^( *)"([A-Za-z]\w*)":/gm, '$1$2:')
    .replaceAll(/"((?:[^"\\']|\\[^"])*)"/g, "'$1'");
function pythonValue(value) {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([name, each]) => `${JSON.stringify(name)}: ${pythonValue(each)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}

function phpValue(value) {
  // In single quotes PHP reads only these two characters otherwise, and no variables.
  if (typeof value === 'string') return `'${value.replaceAll(/[\\']/g, '\\$&')}'`;
  if (Array.isArray(value)) return `[${value.map(phpValue).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, each]) => `${phpValue(name)} => ${phpValue(each)}`);
  // `[]` would be an empty list.
  return members.length === 0 ? '(object) []' : `[${members.join(', ')}]`;
}

function operationHtml(operation) {
  const { id, method, route, summary, description, parameters, body, answer, errors, samples, status } =
    operation;
  const list = (title, members) => (members.length === 0 ? '' : `<h3>${title}</h3>${membersHtml(members)}`);
  const given = parameters.map((each) => ({
    name: each.name,
    type: each.schema.type ?? 'string',
    place: each.in,
    isRequired: each.required === true,
    description: each.description ?? each.schema.description ?? '',
    limits: limitsOf(each.schema),
    members: [],
  }));
  const codes = errors
    .map(({ status: at, code }) => `<li><a href="/docs/errors/${code}"><code>${code}</code></a> ${at}</li>`)
    .join('');
  return `<section class="operation">
<div class="facts">
<h2 id="${id}">${escapeHtml(summary)}<a class="anchor" href="#${id}" aria-label="Link to this operation">#</a></h2>
<p class="request"><span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(route)}</code></p>
${renderText(description)}
${list('Parameters', given)}${list('Body', body)}${list(`Answer, status ${status}`, answer)}
<h3>Errors</h3><ul class="codes">${codes}</ul>
</div>
<div class="samples">${codeTabs(samples)}${tryIt(operation)}</div>
</section>`;
}

function membersHtml(members) {
  const rows = members.map((member) => {
    const { name, type, place, isRequired, description, limits } = member;
    const notes = [type, place === 'header' ? 'header' : '', isRequired ? 'required' : ''].filter(
      (note) => note !== '',
    );
    const inner =
      member.members.length === 0
        ? ''
        : `<details${name === 'data' ? ' open' : ''}><summary>Members of <code>${escapeHtml(name)}</code></summary>${membersHtml(member.members)}</details>`;
    return `<li><code>${escapeHtml(name)}</code> <small>${escapeHtml(notes.join(', '))}</small><div>${renderInline(`${description} ${limits}`.trim())}</div>${inner}</li>`;
  });
  return `<ul class="members">${rows.join('')}</ul>`;
}

/** Makes the HTML of a form. site.js sends its request. */
function tryIt({ id, method, route, parameters, hasBody, example }) {
  const inputs = parameters
    .filter((each) => each.in !== 'header')
    .map(
      ({ name, in: place, required }) =>
        `<label>${name}<input name="${name}" data-place="${place}"${required ? ' required' : ''} autocomplete="off"></label>`,
    );
  const text = hasBody
    ? `<label>Body<textarea name="body" rows="8" spellcheck="false">${escapeHtml(JSON.stringify(example, null, 2))}</textarea></label>`
    : '';
  return `<details class="try"><summary>Try it</summary><form data-method="${method}" data-route="${route}" aria-label="Try ${id}">
<label>API key<input name="key" type="password" required autocomplete="off" placeholder="a sandbox key: msg_…"></label>
<p>With a sandbox key nothing is sent or charged. A production key does what it says.</p>
${inputs.join('')}${text}<button>Send</button></form><output></output></details>`;
}

function operationMarkdown({
  id,
  method,
  route,
  summary,
  description,
  parameters,
  body,
  answer,
  errors,
  samples,
  status,
}) {
  const list = (members, indent = '') =>
    members
      .map(
        (member) =>
          `${indent}- \`${member.name}\` (${member.type}${member.isRequired ? ', required' : ''}) ${`${member.description} ${member.limits}`.trim()}\n${list(member.members, `${indent}  `)}`,
      )
      .join('');
  const given = parameters
    .map(
      (each) =>
        `- \`${each.name}\` (${each.in}${each.required ? ', required' : ''}) ${each.description ?? each.schema.description ?? ''} ${limitsOf(each.schema)}\n`,
    )
    .join('');
  const part = (title, text) => (text === '' ? '' : `**${title}**\n\n${text}\n`);
  return `## ${summary}

\`${method} ${route}\` (operation \`${id}\`)

${description}

${part('Parameters', given)}${part('Body', list(body))}${part(`Answer, status ${status}`, list(answer))}**Errors**: ${errors.map(({ code, status: at }) => `[${code}](/docs/errors/${code}) ${at}`).join(', ')}

${samples.map(({ language, code }) => `\`\`\`${language}\n${code}\`\`\`\n`).join('\n')}`;
}
