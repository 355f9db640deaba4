/** The parsed content of `/metrics` (Prometheus text format 0.0.4). */
export interface ParsedMetrics {
  /** Kind and help of each metric, by name. */
  readonly families: ReadonlyMap<string, { readonly type: string; readonly help: string }>;
  readonly samples: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
  /** Returns the sum of the samples of `name` that have all of `labels`. 0 if there is none. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/y;

/** Parses the text. Throws if a line does not have the format. */
function parseMetrics(text: string): ParsedMetrics {
  const types = new Map<string, string>();
  const helps = new Map<string, string>();
  const samples: { name: string; labels: Record<string, string>; value: number }[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
    if (comment) (comment[1] === 'HELP' ? helps : types).set(comment[2]!, comment[3]!);
    else samples.push(sampleOf(line));
  }
  const families = new Map([...types].map(([name, type]) => [name, { type, help: helps.get(name) ?? '' }]));
  return {
    families,
    samples,
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample.name === name)
        .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
        .reduce((total, { value }) => total + value, 0),
  };
}

function sampleOf(line: string) {
  const [, name, inside = '', value = ''] = SAMPLE.exec(line) ?? [];
  const number = Number(value.replace('Inf', 'Infinity'));
  if (name === undefined || (Number.isNaN(number) && value.toLowerCase() !== 'nan'))
    throw new Error(`not a sample: ${line}`);
  const labels: Record<string, string> = {};
  for (LABEL.lastIndex = 0; LABEL.lastIndex < inside.length; ) {
    const label = LABEL.exec(inside);
    if (!label) throw new Error(`not labels: ${line}`);
    labels[label[1]!] = label[2]!;
  }
  return { name, labels, value: number };
}

/** Reads and parses `/metrics` of a gateway on loopback. */
export async function readMetrics(url: string): Promise<ParsedMetrics> {
  const response = await fetch(`${url}/metrics`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}: ${text}`);
  return parseMetrics(text);
}
