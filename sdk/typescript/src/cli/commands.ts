/**
 * The commands of the package. `listen` forwards the gateway's events to a program on a developer's machine. It needs
 * no tunnel and no registered webhook.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { RateLimitError, UnavailableError, UncertainError } from '../errors.ts';
import { Gateway } from '../gateway.ts';
import { wait } from '../retries.ts';
import type { GatewayEvent } from '../types.generated.ts';
import { deliveryIdOf, type Forwarded, forward, secretFor, type Target, wasTaken } from './forward.ts';
import { type ListenState, StateFile } from './state.ts';

const USAGE = `Usage:
  listen --forward-to URL   follow the account's events and forward each to URL, as the gateway would
  listen --replay ID        forward an event once more, by the id that listen showed
  trigger EVENT             make a sample of an event here and forward it; nothing is sent or charged
  secret                    show the secret that forwarded events are signed with

Options:
  --api-key KEY        or GATEWAY_API_KEY; needs READ_MESSAGES, for trigger MANAGE_WEBHOOKS
  --url URL            or GATEWAY_URL; http://127.0.0.1:3000 when absent
  --signing-secret S   or GATEWAY_SIGNING_SECRET, of a key that signs its requests
  --forward-to URL     where to; that of the last listen when absent
  --events A,B         only these events, such as sms.sent,sms.failed
  --from-start         begin with the oldest event, 30 days back, instead of where the last listen stopped
  --service-name NAME  the gateway's SERVICE_NAME, as in X-NAME-Signature; Service when absent
  --json               one JSON document a line

listen goes on where it stopped, and begins with what happens next at the first time.
`;

/** The cursor before the first event of the feed. */
const FIRST_CURSOR = '0';

const OPTIONS = {
  'api-key': { type: 'string' },
  url: { type: 'string' },
  'signing-secret': { type: 'string' },
  'forward-to': { type: 'string' },
  events: { type: 'string' },
  replay: { type: 'string' },
  'from-start': { type: 'boolean' },
  'service-name': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** Time before a new connection to the event feed, in ms. The client has already waited between its own retries. */
const RECONNECT_MS = 1_000;

/** Input and output of a command. */
interface Terminal {
  readonly environment: NodeJS.ProcessEnv;
  readonly out: (text: string) => void;
  readonly fault: (text: string) => void;
  /** Ends the command `listen` when it aborts. */
  readonly signal: AbortSignal;
}

/** Runs the command of `args` until it ends or the process gets SIGINT or SIGTERM. Resolves to the exit code. */
export function runInProcess(args: readonly string[]): Promise<number> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  return runCommand(args, {
    environment: process.env,
    out: (text) => process.stdout.write(`${text}\n`),
    fault: (text) => process.stderr.write(`${text}\n`),
    signal: stop.signal,
  });
}

/** Runs the command of `args` until it ends or `terminal.signal` aborts. Resolves to the exit code. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await run(args, terminal);
  } catch (error) {
    terminal.fault(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  const [command, ...rest] = positionals;
  if (values.help || command === undefined) {
    terminal.out(USAGE);
    return values.help ? 0 : 1;
  }
  const { environment } = terminal;
  const apiKey = values['api-key'] ?? environment.GATEWAY_API_KEY;
  if (!apiKey) throw new Error('The API key is missing: set GATEWAY_API_KEY, or pass --api-key.');
  const baseUrl = values.url ?? (environment.GATEWAY_URL || 'http://127.0.0.1:3000');
  const signingSecret = values['signing-secret'] ?? (environment.GATEWAY_SIGNING_SECRET || undefined);
  const file = new StateFile(apiKey, baseUrl, environment);
  const state = await file.read();
  const session: Session = {
    ...terminal,
    gateway: new Gateway({ apiKey, baseUrl, signingSecret }),
    file,
    state,
    isJson: values.json ?? false,
    events: values.events?.split(',').map((event) => event.trim()),
    fromStart: values['from-start'] ?? false,
    target: () => targetOf(values['forward-to'] ?? state.forwardTo, apiKey, values['service-name']),
  };
  if (command === 'secret') {
    terminal.out(secretFor(apiKey));
    return 0;
  }
  if (command === 'trigger') return trigger(session, rest[0]);
  if (command !== 'listen') throw new Error(`There is no command ${command}: listen, trigger or secret.`);
  return values.replay === undefined ? listen(session) : replay(session, values.replay);
}

function targetOf(url: string | undefined, apiKey: string, serviceName = 'Service'): Target {
  if (url === undefined) throw new Error('Where to? Pass --forward-to, such as http://127.0.0.1:4000/hook.');
  if (!isHttpUrl(url)) {
    throw new Error(`--forward-to is no address: ${url}. It looks like http://127.0.0.1:4000/hook.`);
  }
  if (!/^[A-Za-z0-9-]+$/.test(serviceName)) {
    throw new Error('--service-name has letters, digits and hyphens only.');
  }
  return { url, secret: secretFor(apiKey), serviceName };
}

function isHttpUrl(text: string): boolean {
  try {
    return /^https?:$/.test(new URL(text).protocol);
  } catch {
    return false;
  }
}

interface Session extends Terminal {
  readonly gateway: Gateway;
  readonly file: StateFile;
  readonly state: ListenState;
  readonly isJson: boolean;
  readonly events: readonly string[] | undefined;
  readonly fromStart: boolean;
  readonly target: () => Target;
}

async function listen(session: Session): Promise<number> {
  const { gateway, file, signal, isJson, out } = session;
  const target = session.target();
  // The first request is before the output, so that a wrong API key fails before the command prints that it forwards.
  const begin = async () => (await gateway.events.list({ after: 'latest' })).cursor;
  let cursor = session.fromStart ? FIRST_CURSOR : (session.state.cursor ?? (await begin()));
  let { forwarded } = session.state;
  const save = () => file.write({ cursor, forwardTo: target.url, forwarded });
  await save();
  if (!isJson) {
    const events = session.events?.join(', ') ?? 'all events';
    out(`Signing with ${target.secret}\nForwarding ${events} to ${target.url}`);
  }
  while (!signal.aborted) {
    // Index of the event in its slice. All events of a slice have the slice's start as cursor, so the index is needed
    // too.
    let index = 0;
    try {
      for await (const followed of gateway.events.follow({ after: cursor, signal })) {
        const { event } = followed;
        if (session.events === undefined || session.events.includes(event.event)) {
          const place = { id: deliveryIdOf(event), after: cursor, index };
          show(session, await forward(event, target));
          forwarded = [...forwarded.filter(({ id }) => id !== place.id), place];
        }
        index = followed.cursor === cursor ? index + 1 : 0;
        cursor = followed.cursor;
        await save();
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
      session.fault(`${(error as Error).message} Trying again.`);
      await wait(RECONNECT_MS, signal).catch(() => undefined);
    }
  }
  return 0;
}

/** True if the same request may succeed later. */
const isPassing = (error: unknown) =>
  error instanceof UncertainError || error instanceof UnavailableError || error instanceof RateLimitError;

async function replay(session: Session, id: string): Promise<number> {
  const place = session.state.forwarded.find((forwarded) => forwarded.id === id);
  if (!place) throw new Error(`listen has forwarded no event ${id} with this key, or too long ago.`);
  const slice = await session.gateway.events.list({ after: place.after, limit: place.index + 1 });
  const event = slice.data.find((each) => deliveryIdOf(each) === id);
  if (!event) throw new Error(`The gateway has the event ${id} no more: it keeps them for 30 days.`);
  return report(session, await forward(event, session.target()));
}

async function trigger(session: Session, name: string | undefined): Promise<number> {
  const { data } = await session.gateway.webhooks.eventTypes({ limit: 100 });
  const found = data.find(({ event }) => event === name);
  if (!found) {
    throw new Error(`Name an event to trigger: ${data.map(({ event }) => event).join(', ')}.`);
  }
  const sample = found.sample as unknown as GatewayEvent;
  const messageId = sample.messageId === undefined ? {} : { messageId: randomUUID() };
  const event = { ...sample, ...messageId, timestamp: new Date().toISOString() };
  return report(session, await forward(event, session.target()));
}

function report(session: Session, forwarded: Forwarded): number {
  show(session, forwarded);
  return wasTaken(forwarded) ? 0 : 1;
}

function show({ isJson, out }: Session, forwarded: Forwarded): void {
  if (isJson) {
    out(JSON.stringify(forwarded));
    return;
  }
  const { event, messageId, status, error, durationMs, id } = forwarded;
  const time = new Date().toTimeString().slice(0, 8);
  const outcome = status === null ? `no answer: ${error}` : String(status);
  out(
    `${time}  ${event.padEnd(18)}  ${outcome}  ${durationMs} ms  message ${messageId ?? '-'}  --replay ${id}`,
  );
}
