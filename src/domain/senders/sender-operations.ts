import { recordChange } from '../audit/record-change.ts';
import {
  ACCOUNT_ROLES,
  accountEnvironmentOf,
  type Caller,
  type Environment,
  listedEnvironment,
  visibilityOf,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, type DomainError, type FieldFault, notFound, validationError } from '../errors.ts';
import { parseEmailAddress } from '../messages/email-address.ts';
import { PURPOSES, type Purpose } from '../messages/message.ts';
import { parseMsisdn } from '../messages/msisdn.ts';
import { parseSenderId, SENDER_ID_MAX_LENGTH } from '../messages/sender-id.ts';
import { operation } from '../operation.ts';
import {
  EMPTY_PAGE,
  emptySlice,
  keyRange,
  type Page,
  type PageRequest,
  type Slice,
  type SliceInput,
  sliceOf,
  UUID_KEY,
} from '../paging.ts';
import { domainOf } from '../people/single-sign-on.ts';
import type { SenderFilter } from '../ports/sender-store.ts';
import type { Stores, Tx } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import { isUuid } from '../uuid.ts';
import { eventEnvelope } from '../webhooks/event.ts';
import { recordEvents } from '../webhooks/fan-out.ts';
import { announceSenders } from './check-sender.ts';
import {
  comparedName,
  type FoundRecords,
  isSpf,
  lookOf,
  type Registration,
  recordsOf,
  type Sender,
  type SenderChannel,
  type SenderRecord,
  type SenderStatus,
} from './sender.ts';

const READ = { scopes: ['MANAGE_SENDERS'], roles: ACCOUNT_ROLES } as const;
const LIST = { ...READ, operator: 'reading' } as const;
const WRITE = { scopes: ['MANAGE_SENDERS'], roles: ['OWNER', 'ADMIN', 'DEVELOPER'] } as const;
const REVIEW = { operator: true } as const;

/** Largest number of senders of an account in one environment. */
const SENDERS_MAX = 100;
const USE_CASE_MAX_LENGTH = 500;
const COMPANY_MAX_LENGTH = 200;
const NOTE_MAX_LENGTH = 500;
const REGISTRATIONS_MAX = 20;
const NETWORK_MAX_LENGTH = 40;
const REFERENCE_MAX_LENGTH = 100;
/** A check stores at most this many TXT records of a kind, and at most `RECORD_MAX_LENGTH` characters of each. */
const FOUND_MAX = 10;
const RECORD_MAX_LENGTH = 1_000;

/** A request for a sender. `senderId` is for SMS, `domain` for email. */
export interface RequestSenderInput {
  /** An operator assigns WhatsApp numbers, so `whatsapp` is refused. */
  readonly channel: SenderChannel;
  readonly senderId?: string | undefined;
  readonly domain?: string | undefined;
  /** Required for SMS. */
  readonly purposes?: readonly Purpose[] | undefined;
  readonly useCase?: string | undefined;
  readonly company?: string | undefined;
  readonly environment?: Environment | undefined;
}
export interface ListedSenders {
  readonly environment?: Environment | undefined;
  readonly channel?: SenderChannel | undefined;
  readonly status?: SenderStatus | undefined;
}

/** A sender as both APIs show it. */
export interface ShownSender extends Omit<Sender, 'name' | 'token' | 'found'> {
  readonly senderId: string | null;
  readonly domain: string | null;
  /** The WhatsApp number in E.164. */
  readonly number: string | null;
  readonly records: readonly SenderRecord[];
}

/** Operations on the names under which accounts send (R430 to R434, R550 to R552). */
export function senderOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, settings, txtRecords } = deps;

  const shown = ({ name, token, found, ...sender }: Sender): ShownSender => ({
    ...sender,
    senderId: sender.channel === 'sms' ? name : null,
    domain: sender.channel === 'email' ? name : null,
    number: sender.channel === 'whatsapp' ? name : null,
    records: recordsOf({ name, token, found, channel: sender.channel }, settings.mailRecords),
  });

  /** Finds a sender that the caller may see. Operators see the senders of all accounts. */
  async function seen(from: Pick<Stores, 'senders'>, caller: Caller, id: string): Promise<Sender> {
    const find = () =>
      caller.kind === 'operator' ? from.senders.findOfAny(id) : from.senders.find(visibilityOf(caller), id);
    const found = isUuid(id) ? await find() : undefined;
    if (!found) throw notFound('Sender');
    return found;
  }

  /** Throws `validation_error` if another account has a sender that looks like this one (R433). */
  async function refuseTaken(tx: Pick<Stores, 'senders'>, sender: Sender): Promise<void> {
    const { accountId, channel, name, environment } = sender;
    if (environment !== 'production') return;
    if (await tx.senders.isTaken(accountId, channel, comparedName(channel, name))) throw taken(channel);
  }

  function filterOf(caller: Caller, input: ListedSenders & { readonly accountId?: string | undefined }) {
    const { channel, status } = input;
    if (caller.kind === 'operator') {
      const { accountId, environment = 'production' } = input;
      return accountId === undefined || isUuid(accountId)
        ? { accountId, environment, channel, status }
        : undefined;
    }
    const owner = listedEnvironment(caller, input.environment);
    if (input.accountId !== undefined && input.accountId !== owner?.accountId) return undefined;
    return owner && { ...owner, channel, status };
  }

  /** Reads the records of a domain from the DNS. Throws `provider_error` if no name server answers. */
  async function ask(sender: Sender): Promise<FoundRecords> {
    const answers = recordsOf(sender, settings.mailRecords).map(async ({ kind, name }) => {
      const texts = await txtRecords.find(name);
      const ofKind = kind === 'spf' ? texts.filter(isSpf) : texts;
      return [kind, ofKind.slice(0, FOUND_MAX).map((text) => text.slice(0, RECORD_MAX_LENGTH))] as const;
    });
    return Object.fromEntries(await Promise.all(answers));
  }

  return {
    /** Returns one page of the account's senders, newest first. */
    list: operation(
      'sender.list',
      READ,
      async (caller, input: ListedSenders & { readonly page: PageRequest }): Promise<Page<ShownSender>> => {
        const filter = filterOf(caller, input);
        if (!filter) return EMPTY_PAGE;
        const { rows, total } = await stores.senders.page(filter, input.page);
        return { rows: rows.map(shown), total };
      },
    ),

    /** Returns a slice of senders, newest first. Operators see the senders of all accounts, or of one account. */
    slice: operation(
      'sender.slice',
      LIST,
      async (
        caller,
        input: SliceInput & ListedSenders & { readonly accountId?: string | undefined },
      ): Promise<Slice<ShownSender>> => {
        const range = keyRange(input, UUID_KEY);
        const filter: SenderFilter | undefined = filterOf(caller, input);
        if (!filter) return emptySlice(range);
        const rows = await stores.senders.slice(filter, range);
        return sliceOf(
          rows.map(shown),
          range,
          ({ id }) => id,
          () => stores.senders.count(filter),
        );
      },
    ),

    get: operation('sender.get', LIST, async (caller, { id }: { readonly id: string }) =>
      shown(await seen(stores, caller, id)),
    ),

    /**
     * Creates a sender. In production it is `pending`, in the sandbox `approved`. Throws `validation_error` if the
     * account has a sender with this name or a name that looks like it. In production, also throws it if another
     * account has an approved sender with such a name (R433).
     */
    request: operation('sender.request', WRITE, async (caller, input: RequestSenderInput) => {
      if (input.channel === 'whatsapp') {
        const message = 'must be sms or email: only the operator of this gateway assigns WhatsApp numbers';
        throw validationError([{ path: 'channel', message }]);
      }
      const owner = accountEnvironmentOf(caller, input.environment);
      const isSandbox = owner.environment === 'sandbox';
      const now = clock.now();
      const sender: Sender = {
        ...owner,
        ...checkRequest(input, settings.defaultSenderId),
        id: ids.uuid(),
        status: isSandbox ? 'approved' : 'pending',
        note: null,
        registrations: [],
        token: input.channel === 'email' ? ids.random(24).toString('base64url') : null,
        found: {},
        phoneNumberId: null,
        createdAt: now,
        reviewedAt: isSandbox ? now : null,
        verifiedAt: isSandbox && input.channel === 'email' ? now : null,
        checkedAt: null,
      };
      return uow.run(async (tx) => {
        await tx.senders.lockAll();
        const all = await tx.senders.ofAccount(owner.accountId);
        const own = all.filter(
          ({ environment, channel }) => environment === owner.environment && channel !== 'whatsapp',
        );
        const compared = comparedName(sender.channel, sender.name);
        const twin = own.find(
          ({ channel, name }) => channel === sender.channel && comparedName(channel, name) === compared,
        );
        if (twin)
          throw refuseName(sender.channel, `your account has asked for ${twin.name}; delete that first`);
        if (own.length >= SENDERS_MAX) throw refuseName(sender.channel, `at most ${SENDERS_MAX} senders`);
        await refuseTaken(tx, sender);
        await tx.senders.insert(sender);
        announceSenders(tx, owner.accountId);
        await recordChange(tx, deps, caller, {
          accountId: owner.accountId,
          action: 'sender.request',
          target: sender.id,
          after: audited(sender),
        });
        return shown(sender);
      });
    }),

    /**
     * Removes a sender. If SENDER_POLICY is `approved`, sends under its name are refused from then on. Throws
     * `validation_error` for a WhatsApp number, which only an operator takes away (R551).
     */
    remove: operation('sender.remove', WRITE, (caller, { id }: { readonly id: string }) =>
      uow.run(async (tx) => {
        await tx.senders.lockAll();
        const sender = await seen(tx, caller, id);
        if (sender.channel === 'whatsapp') {
          const message = 'is a WhatsApp number, which only the operator of this gateway takes away';
          throw validationError([{ path: 'id', message }]);
        }
        await tx.senders.remove(sender.id);
        announceSenders(tx, sender.accountId);
        await recordChange(tx, deps, caller, {
          accountId: sender.accountId,
          action: 'sender.remove',
          target: sender.id,
          before: audited(sender),
        });
      }),
    ),

    /**
     * Reads the DNS records of a domain now. Approves a pending domain if the DNS has its verification record (R434).
     * Throws `validation_error` for another sender, for a rejected domain, and if another account has verified the domain.
     * Throws `provider_error` if no name server answers.
     */
    verify: operation('sender.verify', WRITE, async (caller, { id }: { readonly id: string }) => {
      const sender = await seen(stores, caller, id);
      if (sender.channel !== 'email') {
        const message =
          sender.channel === 'sms'
            ? 'is a sender ID, which the operator approves'
            : 'is a WhatsApp number, which has no DNS record';
        throw validationError([{ path: 'id', message }]);
      }
      if (sender.environment === 'sandbox') return shown(sender);
      const found = await ask(sender);
      const proof = recordsOf({ ...sender, found }, settings.mailRecords).find(
        ({ kind }) => kind === 'verification',
      );
      return uow.run(async (tx) => {
        await tx.senders.lockAll();
        const before = await seen(tx, caller, id);
        const isProved = before.status === 'pending' && proof?.isRight === true;
        if (isProved) await refuseTaken(tx, before);
        const now = clock.now();
        const patch = {
          found,
          checkedAt: now,
          ...(isProved && { status: 'approved' as const, verifiedAt: now }),
        };
        await tx.senders.change(id, patch);
        announceSenders(tx, before.accountId);
        if (isProved) {
          await recordChange(tx, deps, caller, {
            accountId: before.accountId,
            action: 'sender.verify',
            target: id,
            after: { domain: before.name },
          });
          await recordReview(tx, ids, { ...before, ...patch }, now);
        }
        return shown({ ...before, ...patch });
      });
    }),

    /**
     * Approves or rejects a sender (R431). Throws `validation_error` if another account has an approved sender that
     * looks like this one. Also throws it if a domain is not verified.
     */
    review: operation(
      'sender.review',
      REVIEW,
      (
        caller,
        input: { readonly id: string; readonly status: SenderStatus; readonly note?: string | undefined },
      ) => {
        const { status } = input;
        if (status === 'pending') {
          throw validationError([{ path: 'status', message: 'must be approved or rejected' }]);
        }
        const note = optional('note', input.note, NOTE_MAX_LENGTH);
        return uow.run(async (tx) => {
          await tx.senders.lockAll();
          const before = await seen(tx, caller, input.id);
          refuseNumber(before);
          if (status === 'approved') {
            if (before.channel === 'email' && before.verifiedAt === null) {
              throw validationError([
                { path: 'status', message: 'the domain is not verified by its DNS record' },
              ]);
            }
            await refuseTaken(tx, before);
          }
          const now = clock.now();
          const patch = { status, note, reviewedAt: now };
          await tx.senders.change(before.id, patch);
          announceSenders(tx, before.accountId);
          const after = { ...before, ...patch };
          await recordChange(tx, deps, caller, {
            accountId: before.accountId,
            action: 'sender.review',
            target: before.id,
            before: audited(before),
            after: audited(after),
          });
          await recordReview(tx, ids, after, now);
          return shown(after);
        });
      },
    ),

    /** Replaces the registrations of a sender ID at the networks that register sender IDs themselves (R431). */
    setRegistrations: operation(
      'sender.setRegistrations',
      REVIEW,
      (caller, input: { readonly id: string; readonly registrations: readonly Registration[] }) => {
        const registrations = checkRegistrations(input.registrations);
        return uow.run(async (tx) => {
          await tx.senders.lockAll();
          const before = await seen(tx, caller, input.id);
          refuseNumber(before);
          await tx.senders.change(before.id, { registrations });
          await recordChange(tx, deps, caller, {
            accountId: before.accountId,
            action: 'sender.setRegistrations',
            target: before.id,
            before: { registrations: before.registrations },
            after: { registrations },
          });
          return shown({ ...before, registrations });
        });
      },
    ),

    /**
     * Assigns a WhatsApp number to an account, instead of the one that it has (R550). Throws `validation_error` if it is
     * the shared number, belongs to another account, or is not the platform's (R584), and `not_found` if there is no such
     * account.
     */
    assignNumber: operation('sender.assignNumber', REVIEW, async (caller, input: AssignedNumber) => {
      const { accountId } = input;
      const { phoneNumberId, number } = checkNumber(input, settings.sharedPhoneNumberId);
      // Ask before the transaction: its lock would stop all changes of senders while the platform does not answer.
      const isConfirmed = await isConfirmedNumber(deps, phoneNumberId, number);
      return uow.run(async (tx) => {
        await tx.senders.lockAll();
        if (!isUuid(accountId) || !(await tx.accounts.find(accountId))) throw notFound('Account');
        const before = await numberOf(tx, accountId);
        const now = clock.now();
        const verifiedAt = isConfirmed ? now : null;
        if (before?.phoneNumberId === phoneNumberId && before.name === number) {
          if (!isConfirmed || before.verifiedAt !== null) return shown(before);
          await tx.senders.change(before.id, { verifiedAt });
          return shown({ ...before, verifiedAt });
        }
        const other = await tx.senders.numberOfAnother(accountId, phoneNumberId, number);
        if (other) {
          const path = other.phoneNumberId === phoneNumberId ? 'phoneNumberId' : 'number';
          const message = `belongs to the account ${other.accountId}; take it away from that account first`;
          throw validationError([{ path, message }]);
        }
        const sender: Sender = {
          accountId,
          environment: 'production',
          id: ids.uuid(),
          channel: 'whatsapp',
          name: number,
          status: 'approved',
          purposes: PURPOSES,
          useCase: null,
          company: null,
          note: null,
          registrations: [],
          token: null,
          found: {},
          phoneNumberId,
          createdAt: now,
          reviewedAt: now,
          verifiedAt,
          checkedAt: null,
        };
        if (before) await tx.senders.remove(before.id);
        await tx.senders.insert(sender);
        announceSenders(tx, accountId);
        await recordChange(tx, deps, caller, {
          accountId,
          action: 'sender.assignNumber',
          target: sender.id,
          ...(before && { before: auditedNumber(before) }),
          after: auditedNumber(sender),
        });
        return shown(sender);
      });
    }),

    /** Takes the WhatsApp number of an account away, so that it shares the gateway's (R552). Throws `not_found`. */
    removeNumber: operation(
      'sender.removeNumber',
      REVIEW,
      (caller, { accountId }: { readonly accountId: string }) =>
        uow.run(async (tx) => {
          await tx.senders.lockAll();
          const before = isUuid(accountId) ? await numberOf(tx, accountId) : undefined;
          if (!before) throw notFound('WhatsApp number');
          await tx.senders.remove(before.id);
          announceSenders(tx, accountId);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'sender.removeNumber',
            target: before.id,
            before: auditedNumber(before),
          });
        }),
    ),
  };
}

/** A WhatsApp number for an account. */
export interface AssignedNumber {
  readonly accountId: string;
  /** The platform's id of the number. */
  readonly phoneNumberId: string;
  /** The number, in any form that an SMS accepts. */
  readonly number: string;
}

const PHONE_NUMBER_ID = /^[0-9]{1,30}$/;

function checkNumber({ phoneNumberId, number }: AssignedNumber, sharedPhoneNumberId: string | undefined) {
  return checkAll({
    phoneNumberId: () => {
      const id = phoneNumberId.trim();
      const refuse = (message: string) => validationError([{ path: 'phoneNumberId', message }]);
      if (!PHONE_NUMBER_ID.test(id)) {
        throw refuse(
          'must have 1 to 30 digits: the id that WhatsApp gives the number, not the number itself',
        );
      }
      if (id === sharedPhoneNumberId) {
        throw refuse(
          'is the number of the gateway (WHATSAPP_PHONE_NUMBER_ID), which accounts without one share',
        );
      }
      return id;
    },
    number: () => {
      const parsed = parseMsisdn(number);
      if (parsed !== undefined) return parsed;
      throw validationError([
        { path: 'number', message: 'must be a phone number in E.164 form, such as +256700123456' },
      ]);
    },
  });
}

/**
 * Asks the platform about a number (R584). Throws `validation_error` if the id is not of this number. Returns false, with
 * a line in the log, if the platform does not answer clearly.
 */
async function isConfirmedNumber(
  { askAboutNumber, logger }: Pick<Dependencies, 'askAboutNumber' | 'logger'>,
  phoneNumberId: string,
  number: string,
): Promise<boolean> {
  const answer = await askAboutNumber(phoneNumberId);
  if (answer.kind === 'unclear') {
    logger.warn(
      { phoneNumberId, reason: answer.reason },
      'WhatsApp did not confirm a number that is assigned to an account',
    );
    return false;
  }
  if (answer.kind === 'unknown') {
    const message =
      `is no phone number that the gateway's app can use (${answer.reason}); give the phone number ID that WhatsApp ` +
      'Manager shows beside the number, and give the app access to it';
    throw validationError([{ path: 'phoneNumberId', message }]);
  }
  if (answer.number !== undefined && answer.number !== number) {
    const message = `is not the number of this phone number ID: WhatsApp says that it is ${answer.number}`;
    throw validationError([{ path: 'number', message }]);
  }
  return true;
}

async function numberOf(tx: Pick<Stores, 'senders'>, accountId: string): Promise<Sender | undefined> {
  return (await tx.senders.ofAccount(accountId)).find(({ channel }) => channel === 'whatsapp');
}

const auditedNumber = ({ name, phoneNumberId }: Sender) => ({ number: name, phoneNumberId });

/** Throws `validation_error` for a WhatsApp number. It is approved as long as it is assigned. */
function refuseNumber({ channel }: Sender): void {
  if (channel !== 'whatsapp') return;
  throw validationError([
    { path: 'id', message: 'is a WhatsApp number: assign another one, or take it away from the account' },
  ]);
}

/**
 * Records the event `sender.reviewed` (R484): a sender was approved or rejected, or lost its domain. In the sandbox there
 * is none.
 */
export async function recordReview(tx: Tx, ids: Ids, sender: Sender, recordedAt: Date): Promise<void> {
  const { accountId, environment, id, channel, name, status, note } = sender;
  if (environment !== 'production') return;
  const type = 'sender.reviewed';
  const senderId = channel === 'sms' ? name : null;
  const domain = channel === 'email' ? name : null;
  const data = { id, channel, senderId, domain, status, note };
  const body = eventEnvelope({ type, channel: 'system', messageId: null, recordedAt, data });
  await recordEvents(tx, ids, [
    { accountId, environment, type, messageId: null, position: null, recordedAt, body, source: null },
  ]);
}

const pathOf = (channel: SenderChannel) => (channel === 'sms' ? 'senderId' : 'domain');
const refuseName = (channel: SenderChannel, message: string): DomainError =>
  validationError([{ path: pathOf(channel), message }]);
const taken = (channel: SenderChannel): DomainError =>
  refuseName(
    channel,
    channel === 'sms' ? 'looks like a sender ID of another account' : 'is verified by another account',
  );

/** Checks a request. Throws `validation_error` with all faults. */
function checkRequest(input: RequestSenderInput, defaultSenderId: string) {
  const { channel } = input;
  const isSms = channel === 'sms';
  return {
    channel,
    ...checkAll({
      name: () => (isSms ? checkSenderId(input, defaultSenderId) : checkDomain(input)),
      purposes: () => checkPurposes(input),
      useCase: () => (isSms ? required : optional)('useCase', input.useCase, USE_CASE_MAX_LENGTH),
      company: () => (isSms ? required : optional)('company', input.company, COMPANY_MAX_LENGTH),
    }),
  };
}

function checkSenderId({ senderId, domain }: RequestSenderInput, defaultSenderId: string): string {
  if (domain !== undefined) throw validationError([{ path: 'domain', message: 'is for email' }]);
  const parsed = parseSenderId(senderId ?? '');
  if (parsed === undefined) {
    throw refuseName('sms', `must be 1 to ${SENDER_ID_MAX_LENGTH} letters A-Z or digits`);
  }
  if (parsed === defaultSenderId) throw refuseName('sms', 'is the default, which every account may use');
  if (lookOf(parsed) === lookOf(defaultSenderId)) {
    throw refuseName('sms', `looks like ${defaultSenderId}, the default of the gateway`);
  }
  return parsed;
}

function checkDomain({ senderId, domain }: RequestSenderInput): string {
  if (senderId !== undefined) throw validationError([{ path: 'senderId', message: 'is for SMS' }]);
  // Without the check for an @, `a@b.example` would be read as b.example.
  const address = domain?.includes('@') ? undefined : parseEmailAddress(`postmaster@${domain ?? ''}`);
  const parsed = address === undefined ? undefined : domainOf(address);
  if (parsed?.includes('.')) return parsed;
  throw refuseName('email', 'must be a domain such as example.com');
}

function checkPurposes({ channel, purposes }: RequestSenderInput): readonly Purpose[] {
  if (channel === 'email' && purposes === undefined) return PURPOSES;
  if (purposes !== undefined && purposes.length > 0) {
    return PURPOSES.filter((purpose) => purposes.includes(purpose));
  }
  throw validationError([{ path: 'purposes', message: `must have at least one of ${PURPOSES.join(', ')}` }]);
}

function required(path: string, value: string | undefined, most: number): string {
  const text = value?.trim() ?? '';
  if (text !== '' && text.length <= most) return text;
  throw validationError([{ path, message: `must have 1 to ${most} characters` }]);
}

function optional(path: string, value: string | undefined, most: number): string | null {
  return value === undefined || value.trim() === '' ? null : required(path, value, most);
}

function checkRegistrations(given: readonly Registration[]): readonly Registration[] {
  const faults: FieldFault[] = [];
  if (given.length > REGISTRATIONS_MAX) {
    throw validationError([{ path: 'registrations', message: `at most ${REGISTRATIONS_MAX} networks` }]);
  }
  const networks = new Set<string>();
  const checked = given.map(({ network, status, reference }, index) => {
    const path = `registrations.${index}`;
    const name = network.trim();
    if (name === '' || name.length > NETWORK_MAX_LENGTH) {
      faults.push({ path: `${path}.network`, message: `must have 1 to ${NETWORK_MAX_LENGTH} characters` });
    }
    if (networks.has(name)) faults.push({ path: `${path}.network`, message: 'is given twice' });
    networks.add(name);
    if ((reference?.length ?? 0) > REFERENCE_MAX_LENGTH) {
      faults.push({
        path: `${path}.reference`,
        message: `must have at most ${REFERENCE_MAX_LENGTH} characters`,
      });
    }
    return { network: name, status, reference };
  });
  if (faults.length > 0) throw validationError(faults);
  return checked;
}

function audited({ channel, name, status, purposes, useCase, company, note, environment }: Sender) {
  return { channel, name, status, purposes, useCase, company, note, environment };
}
