import type { Dependencies } from '../dependencies.ts';
import type { OutgoingMessage, OutgoingRecipient } from '../messages/message.ts';
import type { Cache } from '../ports/changes.ts';
import { findSuppressed } from './hashed-suppressions.ts';
import { allowedBy, copiesOf, isSuppressedChannel, type SuppressedAddress } from './suppression.ts';

/**
 * A look at the suppressions holds for this long, in ms. The send itself is the first look at a message. So ordinary
 * sends run no further statement.
 */
const FRESH_MS = 1_000;

interface Part {
  readonly message: OutgoingMessage;
  readonly recipient: OutgoingRecipient;
}
/** Returns the suppressed addresses of an account on a channel, among those that were looked for. */
type Found = (message: OutgoingMessage) => readonly SuppressedAddress[];
type Needs = Pick<Dependencies, 'stores' | 'uow' | 'addressHashes' | 'clock' | 'logger' | 'createCache'>;

/** Decides whether one recipient of a job, and the copies of an email, may still get the message (R530, R557). */
export interface LateGate {
  /** True if the recipient was suppressed at the last look. */
  readonly isSuppressed: boolean;
  /** See `Submission.stillAllowed`. */
  stillAllowed(addresses: readonly string[]): Promise<readonly string[] | undefined>;
  /**
   * Call this when the submission has an outcome. Returns the number of copies that were left out. Copies that are left
   * out after that are noted in the timeline at once, with this status.
   */
  close(status: 'sent' | 'failed'): number;
}

/** Returns the gate of a recipient of the job. */
export type LateCheck = (part: Part) => LateGate;

/** Returns the note about copies that were left out (R558). It names no address, because copies may be bcc. */
export function leftOutNote(copies: number): string {
  return copies === 1
    ? 'One copy (cc or bcc) was left out: its recipient was suppressed after the message was accepted.'
    : `${copies} copies (cc or bcc) were left out: their recipients were suppressed after the message was accepted.`;
}

/**
 * Looks at the suppressions once more before messages leave (R530). A message may wait for hours or weeks after it was
 * accepted. People who asked to be left alone meanwhile must not get it.
 */
export class LateSuppressions {
  readonly #needs: Needs;
  readonly #suppressing: Cache<'none' | 'plain' | 'hashed'>;

  constructor(needs: Needs) {
    this.#needs = needs;
    this.#suppressing = needs.createCache('suppressions', (id) => needs.stores.suppressions.any(id));
  }

  /** Looks at the suppressions of the recipients of a job. */
  async check(parts: readonly Part[]): Promise<LateCheck> {
    const job = new JobLooks(parts, this.#needs, (own) => this.#find(own));
    await job.begin();
    return (part) => new Gate(job, part, this.#needs);
  }

  /** Reads the suppressions: one statement for each account that has suppressions. */
  async #find(parts: readonly Part[]): Promise<Found> {
    const suppressed = new Map<string, readonly SuppressedAddress[]>();
    for (const [owner, own] of Map.groupBy(parts, ({ message }) => ownerOf(message))) {
      suppressed.set(owner, await this.#among(own));
    }
    return (message) => suppressed.get(ownerOf(message)) ?? [];
  }

  async #among(own: readonly Part[]): Promise<readonly SuppressedAddress[]> {
    const [first] = own;
    if (!first) return [];
    const { accountId, channel } = first.message;
    if (!isSuppressedChannel(channel)) return [];
    const kind = await this.#suppressing.get(accountId);
    if (kind === 'none') return [];
    const addresses = own.flatMap(({ message, recipient }) => [
      recipient.address,
      // Only the mail of the first recipient has copies.
      ...(recipient.position === 0 ? copiesOf(message.payload) : []),
    ]);
    return findSuppressed(
      this.#needs.stores.suppressions,
      this.#needs.addressHashes,
      kind,
      { accountId, environment: 'production' },
      channel,
      [...new Set(addresses.map((address) => address.toLowerCase()))],
    );
  }
}

/**
 * The looks of one job. A job whose recipients wait for a slow carrier looks once a second for all that still wait, and
 * not once for each.
 */
class JobLooks {
  readonly #needs: Needs;
  readonly #find: (parts: readonly Part[]) => Promise<Found>;
  /** The recipients without an outcome. */
  readonly #open: Set<Part>;
  #covered: ReadonlySet<Part> = new Set();
  #found: Found = () => [];
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;

  constructor(parts: readonly Part[], needs: Needs, find: (parts: readonly Part[]) => Promise<Found>) {
    this.#open = new Set(parts.filter(({ message }) => !isAnswer(message)));
    this.#needs = needs;
    this.#find = find;
  }

  async begin(): Promise<void> {
    const nowMs = this.#nowMs();
    if ([...this.#open].some(({ message }) => !isYoung(message, nowMs))) await this.#look();
  }

  isOpen(part: Part): boolean {
    return this.#open.has(part);
  }

  end(part: Part): void {
    this.#open.delete(part);
  }

  /** Returns what the last look found, without a new look. */
  known({ message }: Part): readonly SuppressedAddress[] {
    return this.#found(message);
  }

  /** Returns what a look found that is at most a second old. */
  async recent(part: Part): Promise<readonly SuppressedAddress[]> {
    const nowMs = this.#nowMs();
    if (isAnswer(part.message) || isYoung(part.message, nowMs)) return [];
    if (this.#covered.has(part) && nowMs - this.#lookedAt < FRESH_MS) return this.#found(part.message);
    // Only copies of an email wait after the outcome. The others of the job do not wait with them.
    if (!this.#open.has(part)) return (await this.#find([part]))(part.message);
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
    return this.#found(part.message);
  }

  async #look(): Promise<void> {
    const lookedAt = this.#nowMs();
    const covered = new Set(this.#open);
    this.#found = await this.#find([...covered]);
    this.#covered = covered;
    this.#lookedAt = lookedAt;
  }

  #nowMs(): number {
    return this.#needs.clock.now().getTime();
  }
}

class Gate implements LateGate {
  readonly #job: JobLooks;
  readonly #part: Part;
  readonly #needs: Needs;
  readonly #leftOut = new Set<string>();
  #status: 'sent' | 'failed' = 'sent';
  isSuppressed: boolean;

  constructor(job: JobLooks, part: Part, needs: Needs) {
    this.#job = job;
    this.#part = part;
    this.#needs = needs;
    const { message, recipient } = part;
    this.isSuppressed = !isAnswer(message) && !allowedBy(job.known(part), message.purpose)(recipient.address);
  }

  async stillAllowed(addresses: readonly string[]): Promise<readonly string[] | undefined> {
    const { message, recipient } = this.#part;
    try {
      const stays = allowedBy(await this.#job.recent(this.#part), message.purpose);
      const gone = addresses.filter((address) => !stays(address));
      this.isSuppressed = gone.includes(recipient.address);
      const copies = gone.filter((address) => address !== recipient.address);
      if (this.#job.isOpen(this.#part)) for (const copy of copies) this.#leftOut.add(copy);
      else if (copies.length > 0) await this.#note(copies.length);
      return addresses.filter(stays);
    } catch (error) {
      const { id: messageId } = message;
      this.#needs.logger.warn(
        { err: error, messageId },
        'suppressions could not be read before a submission',
      );
      return undefined;
    }
  }

  close(status: 'sent' | 'failed'): number {
    this.#status = status;
    this.#job.end(this.#part);
    return this.#leftOut.size;
  }

  async #note(copies: number): Promise<void> {
    const { id: messageId, accountId } = this.#part.message;
    const { position } = this.#part.recipient;
    const at = this.#needs.clock.now();
    await this.#needs.uow.run(async (tx) => {
      await tx.messages.note([
        { accountId, messageId, position, at, status: this.#status, detail: leftOutNote(copies) },
      ]);
      tx.announceLive('message', [{ accountId, id: messageId }]);
    });
  }
}

function ownerOf({ accountId, channel }: OutgoingMessage): string {
  return `${accountId} ${channel}`;
}

function isYoung({ createdAt }: OutgoingMessage, nowMs: number): boolean {
  return nowMs - createdAt.getTime() < FRESH_MS;
}

/** True for the confirmation of a reply, which goes to suppressed numbers, too (R381). */
function isAnswer({ apiKeyId, userId }: OutgoingMessage): boolean {
  return apiKeyId === null && userId === null;
}
