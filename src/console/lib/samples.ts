/** A request to the REST API. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** The API key. If it is empty, the samples read the environment variable KEY. */
  readonly key: string;
  readonly body?: unknown;
}

/** The same request in one language. */
export interface RequestSample {
  readonly language: 'curl' | 'TypeScript' | 'Python' | 'PHP';
  readonly code: string;
}

/** Returns programs without libraries that make `request` and print the answer. */
export function samplesOf(request: ApiRequest): readonly RequestSample[] {
  return [
    { language: 'curl', code: curlOf(request) },
    { language: 'TypeScript', code: typescriptOf(request) },
    { language: 'Python', code: pythonOf(request) },
    { language: 'PHP', code: phpOf(request) },
  ];
}

/** Builds a curl command with one option on each line. */
export const curl = (url: string, ...options: readonly string[]) =>
  [`curl -s ${url}`, ...options].join(' \\\n  ');

/** The options of curl that send a JSON body. */
export const jsonOptions = (body: unknown) => [
  "-H 'Content-Type: application/json'",
  `-d ${shellText(JSON.stringify(body))}`,
];

/** Quotes a text as one word of a POSIX shell. */
const shellText = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function curlOf({ method, url, key, body }: ApiRequest): string {
  const header = key === '' ? '-H "X-Api-Key: $KEY"' : `-H ${shellText(`X-Api-Key: ${key}`)}`;
  const isBare = method === 'POST' && body === undefined;
  return curl(url, ...(isBare ? ['-X POST'] : []), header, ...(body === undefined ? [] : jsonOptions(body)));
}

function typescriptOf({ method, url, key, body }: ApiRequest): string {
  const value = key === '' ? "process.env.KEY ?? ''" : JSON.stringify(key);
  const type = body === undefined ? '' : ", 'Content-Type': 'application/json'";
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    `  method: '${method}',`,
    `  headers: { 'X-Api-Key': ${value}${type} },`,
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literal(body, JAVASCRIPT)}),`]),
    '});',
    'console.log(await response.text());',
  ].join('\n');
}

function pythonOf({ method, url, key, body }: ApiRequest): string {
  const value = key === '' ? 'os.environ["KEY"]' : JSON.stringify(key);
  const type = body === undefined ? '' : ', "Content-Type": "application/json"';
  return [
    ...(body === undefined ? [] : ['import json']),
    ...(key === '' ? ['import os'] : []),
    'import urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    `    headers={"X-Api-Key": ${value}${type}},`,
    ...(body === undefined ? [] : [`    data=json.dumps(${literal(body, PYTHON)}).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.read().decode())',
  ].join('\n');
}

function phpOf({ method, url, key, body }: ApiRequest): string {
  const value = key === '' ? "'X-Api-Key: ' . getenv('KEY')" : phpText(`X-Api-Key: ${key}`);
  const type = body === undefined ? '' : ", 'Content-Type: application/json'";
  return [
    '<?php',
    `$curl = curl_init(${phpText(url)});`,
    'curl_setopt_array($curl, [',
    `    CURLOPT_CUSTOMREQUEST => '${method}',`,
    '    CURLOPT_RETURNTRANSFER => true,',
    `    CURLOPT_HTTPHEADER => [${value}${type}],`,
    ...(body === undefined ? [] : [`    CURLOPT_POSTFIELDS => json_encode(${literal(body, PHP)}),`]),
    ']);',
    '$answer = curl_exec($curl);',
    'if ($answer === false) {',
    '    throw new RuntimeException(curl_error($curl));',
    '}',
    'echo $answer, "\\n";',
  ].join('\n');
}

/** In single quotes PHP reads only these two characters otherwise, and no variables. */
const phpText = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;

/** How a language writes values of JSON. */
interface Notation {
  readonly text: (value: string) => string;
  readonly list: (items: readonly string[]) => string;
  readonly object: (members: readonly string[]) => string;
  readonly member: (name: string, value: string) => string;
  /** The words for null, true and false, where they are not those of JSON. */
  readonly words: Readonly<Record<string, string>>;
}
const bracketed = (items: readonly string[]) => `[${items.join(', ')}]`;
const JAVASCRIPT: Notation = {
  text: (value) => JSON.stringify(value),
  list: bracketed,
  object: (members) => `{ ${members.join(', ')} }`,
  member: (name, value) => `${/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)}: ${value}`,
  words: {},
};
const PYTHON: Notation = {
  text: (value) => JSON.stringify(value),
  list: bracketed,
  object: (members) => `{${members.join(', ')}}`,
  member: (name, value) => `${JSON.stringify(name)}: ${value}`,
  words: { null: 'None', true: 'True', false: 'False' },
};
const PHP: Notation = {
  text: phpText,
  list: bracketed,
  object: bracketed,
  member: (name, value) => `${phpText(name)} => ${value}`,
  words: {},
};

function literal(value: unknown, notation: Notation): string {
  if (typeof value === 'string') return notation.text(value);
  if (Array.isArray(value)) return notation.list(value.map((each) => literal(each, notation)));
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, each]) => each !== undefined);
    return notation.object(members.map(([name, each]) => notation.member(name, literal(each, notation))));
  }
  const word = JSON.stringify(value);
  return notation.words[word] ?? word;
}
