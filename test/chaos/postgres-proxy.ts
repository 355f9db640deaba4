/**
 * A proxy between one gateway and PostgreSQL that reads the protocol. A **group** is the messages of a client up to a
 * Sync, or one simple query. The seed decides which groups with a commit are lost, together with their connection. A
 * group is lost before PostgreSQL receives it, or its answer is lost after PostgreSQL has committed.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { ServerConnection } from '../support/database.ts';
import type { Random } from './random.ts';

/** `lose`: the answer to a commit is lost. `drop`: the commit itself is lost. Either one ends the connection. */
export type CommitFate = 'lose' | 'drop';

export interface PostgresProxy {
  /** DATABASE_URL of the database behind it. */
  readonly url: string;
  /** Delay in ms of each received chunk, in both directions. */
  delayMs: number;
  /** The fate of groups that commit, and the share of them that it hits (0 to 1). Undefined: no group is lost. */
  commits: { readonly fate: CommitFate; readonly share: number } | undefined;
  /** Called once, when PostgreSQL reports an open transaction, before the gateway receives that report. */
  onTransaction: (() => void) | undefined;
  /** True closes all connections and refuses new ones, until it is called with false. */
  setCut(isCut: boolean): void;
  stop(): Promise<void>;
}

export async function startPostgresProxy(server: ServerConnection, random: Random): Promise<PostgresProxy> {
  const clients = new Set<Socket>();
  let isCut = false;
  const listener = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = server.host.startsWith('/')
      ? connect(join(server.host, `.s.PGSQL.${server.port}`))
      : connect(server.port, server.host);
    clients.add(client);
    const end = () => {
      clients.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    /** Forwards chunks to `to` in their order, even if the delay changes in between. */
    const passing = (to: Socket) => {
      let last = Promise.resolve();
      return (piece: Buffer) => {
        const until = performance.now() + proxy.delayMs;
        last = last.then(async () => {
          const leftMs = until - performance.now();
          if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
          if (!to.destroyed) to.write(piece);
        });
      };
    };
    const up = passing(upstream);
    const down = passing(client);
    const requests = new Messages(true);
    const answers = new Messages(false);
    const groups = new Groups();
    client.on('data', (piece: Buffer) => {
      for (const message of requests.read(piece)) {
        const group = groups.add(message);
        if (!group) continue;
        const { commits } = proxy;
        if (commits && group.commits && random.chance(commits.share)) {
          if (commits.fate === 'drop') return end();
          group.isLost = true;
        }
        up(group.bytes);
      }
    });
    upstream.on('data', (piece: Buffer) => {
      for (const message of answers.read(piece)) {
        const isLost = groups.isAnswerLost;
        if (message.type === READY) {
          groups.answered(message);
          // Stop here only if every group is answered. Otherwise PostgreSQL may already have got the end of this
          // transaction.
          if (message.bytes[5] === IN_TRANSACTION && groups.isAnswered) {
            proxy.onTransaction?.();
            proxy.onTransaction = undefined;
          }
        }
        if (!isLost) down(message.bytes);
        // READY shows that PostgreSQL has done the group whose answer is lost. So the connection may end now.
        else if (message.type === READY) return end();
      }
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  const password = server.password ? `:${server.password}` : '';
  const proxy: PostgresProxy = {
    url: `postgres://${server.user}${password}@127.0.0.1:${port}/${server.database}`,
    delayMs: 0,
    commits: undefined,
    onTransaction: undefined,
    setCut(cut) {
      isCut = cut;
      if (cut) for (const client of clients) client.destroy();
    },
    stop: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        for (const client of clients) client.destroy();
      }),
  };
  return proxy;
}

interface Message {
  /** Type byte of the message. Empty for the first message of a client, which has no type byte. */
  readonly type: string;
  readonly bytes: Buffer;
}

/** Types of messages that end a group: Sync, a simple query, and messages outside groups (startup, password, end). */
const ENDS_GROUP = new Set(['S', 'Q', '', 'p', 'X']);
/** Types of messages whose answer from PostgreSQL ends with `READY`. */
const ANSWERED = new Set(['S', 'Q', '']);
const READY = 'Z';
const BIND = 'B';
const PARSE = 'P';

/** Splits a stream of bytes into messages of the protocol. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #isFirst: boolean;

  constructor(isClient: boolean) {
    this.#isFirst = isClient;
  }

  *read(piece: Buffer): Generator<Message> {
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    for (;;) {
      const start = this.#isFirst ? 0 : 1;
      if (this.#rest.length < start + 4) return;
      const length = start + this.#rest.readUInt32BE(start);
      if (this.#rest.length < length) return;
      const bytes = this.#rest.subarray(0, length);
      const type = this.#isFirst ? '' : String.fromCharCode(bytes[0] as number);
      this.#rest = this.#rest.subarray(length);
      this.#isFirst = false;
      yield { type, bytes };
    }
  }
}

interface Group {
  readonly bytes: Buffer;
  /** True if the group ends a transaction: it contains a COMMIT, or is a whole transaction without BEGIN. */
  readonly commits: boolean;
  /** True if the proxy withholds the answer to this group. */
  isLost: boolean;
}

/** The groups of a connection, and whether each commits. */
class Groups {
  /** Names of the statements that begin and end a transaction. */
  readonly #names = new Map<string, string>();
  readonly #unanswered: Group[] = [];
  #pieces: Buffer[] = [];
  #words = new Set<string>();
  /** True if a transaction is open after all messages sent so far. */
  #isOpen = false;

  /** True if the next answer from PostgreSQL belongs to a group whose answer is lost. */
  get isAnswerLost(): boolean {
    return this.#unanswered[0]?.isLost === true;
  }

  /** True if PostgreSQL has answered every group. */
  get isAnswered(): boolean {
    return this.#unanswered.length === 0;
  }

  /** Adds a message of the client. Returns the group that it ends, or undefined if it ends none. */
  add(message: Message): Group | undefined {
    this.#pieces.push(message.bytes);
    this.#read(message);
    if (!ENDS_GROUP.has(message.type)) return undefined;
    const words = this.#words;
    const hasWork = words.size > 0;
    const group = {
      bytes: Buffer.concat(this.#pieces),
      commits: hasWork && (words.has('COMMIT') || !(this.#isOpen || words.has('BEGIN'))),
      isLost: false,
    };
    this.#pieces = [];
    this.#words = new Set();
    if (words.has('COMMIT') || words.has('ROLLBACK')) this.#isOpen = false;
    else if (words.has('BEGIN')) this.#isOpen = true;
    if (ANSWERED.has(message.type)) this.#unanswered.push(group);
    return group;
  }

  answered({ bytes }: Message): void {
    this.#unanswered.shift();
    if (this.#unanswered.length === 0) this.#isOpen = bytes[5] !== IDLE;
  }

  #read({ type, bytes }: Message): void {
    if (type === PARSE) {
      const [name = '', text = ''] = bytes.toString('latin1', 5).split('\0');
      this.#names.set(name, wordOf(text));
    } else if (type === BIND) {
      const [, name = ''] = bytes.toString('latin1', 5).split('\0');
      this.#words.add(this.#names.get(name) ?? 'other');
    } else if (type === 'Q') {
      this.#words.add(wordOf(bytes.toString('latin1', 5)));
    }
  }
}

const IDLE = 'I'.charCodeAt(0);
const IN_TRANSACTION = 'T'.charCodeAt(0);
const wordOf = (text: string) => /^\s*(BEGIN|COMMIT|ROLLBACK)\b/i.exec(text)?.[1]?.toUpperCase() ?? 'other';
