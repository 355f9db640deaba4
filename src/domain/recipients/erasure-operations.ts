import { recordChange } from '../audit/record-change.ts';
import { actorOf, type Caller, visibilityOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, DomainError, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import {
  keyRange,
  type Page,
  type PageRequest,
  type Slice,
  type SliceInput,
  sliceOf,
  UUID_KEY,
} from '../paging.ts';
import { ALL_IDS } from '../ports/changes.ts';
import { isUuid } from '../uuid.ts';
import { ERASURE_REASON_MAX_LENGTH, type Erasure, NOTHING_ERASED } from './erasure.ts';
import { exportPart, type RecipientExport } from './export-person.ts';
import { findPerson } from './find-person.ts';
import { type AddressKind, checkPersonalAddress } from './personal-address.ts';

/** It takes data of every noun away, so only FULL_ACCESS is enough. The receipts say that a person was erased. */
const READ = { scopes: ['FULL_ACCESS'], roles: ['OWNER', 'ADMIN'] } as const;
const DANGEROUS = { ...READ, stepUp: true } as const;

/** Number of pending messages that an error names. More are named when these are canceled. */
const LISTED_PENDING = 100;

export interface PersonInput {
  readonly address: string;
  /** Default: email for a text with an @, otherwise phone. */
  readonly kind?: AddressKind | undefined;
}

/** Operations on all data of one person: erase and export (R490, R493). */
export function erasureOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, addressHashes } = deps;
  const rowsOf = (caller: Caller) => {
    const { accountId, environment } = visibilityOf(caller);
    return { accountId, environment: environment ?? null };
  };
  return {
    /**
     * Begins to erase what is stored of a person. Returns the erasure, which a worker ends. If one of this address is
     * under way, returns that one. Throws `recipient_has_pending_messages` while a message to them has not left.
     */
    erase: operation(
      'recipient.erase',
      DANGEROUS,
      async (caller, input: PersonInput & { readonly reason: string }): Promise<Erasure> => {
        const { given, reason } = checkAll({
          given: () => checkPersonalAddress(input.address, input.kind),
          reason: () => checkReason(input.reason),
        });
        const owner = rowsOf(caller);
        const { accountId, environment } = owner;
        const addressHash = (await addressHashes.of(accountId))(given.address);
        const targets = await findPerson(stores, accountId, environment, given);
        return uow.run(async (tx) => {
          const open = await tx.erasures.findOpen(accountId, environment, addressHash);
          if (open) return open;
          const createdAt = clock.now();
          const pending = await tx.erasures.pending({ ...owner, targets, until: createdAt }, LISTED_PENDING);
          if (pending.count > 0) throw hasPending(pending);
          const id = ids.uuid();
          const entry = await recordChange(tx, deps, caller, {
            accountId,
            action: 'recipient.erase',
            target: id,
            // Audit entries are never deleted. So neither the address nor the reason, which may name the person.
            after: { environment, kind: given.kind },
          });
          const [chained] = await tx.audit.chained(accountId, [entry]);
          if (!chained) throw new Error('an audit entry is not in the chain');
          const erasure: Erasure = {
            ...owner,
            id,
            kind: given.kind,
            addressHash,
            reason,
            requestedBy: actorOf(caller),
            createdAt,
            doneAt: null,
            erased: NOTHING_ERASED,
            auditSequence: chained.seq,
            doneAuditSequence: null,
          };
          await tx.erasures.insert({ ...erasure, step: 'collect', mark: null, targets });
          tx.announce('erasures', ALL_IDS);
          return erasure;
        });
      },
    ),

    /** Returns an erasure. Once it is done, it is the receipt. */
    get: operation('erasure.get', READ, async (caller, { id }: { readonly id: string }): Promise<Erasure> => {
      const found = isUuid(id) && (await stores.erasures.find(visibilityOf(caller), id));
      if (!found) throw notFound('Erasure');
      return found;
    }),

    /** Returns one page, newest first. */
    list: operation(
      'erasure.list',
      READ,
      (caller, { page }: { readonly page: PageRequest }): Promise<Page<Erasure>> =>
        stores.erasures.page(visibilityOf(caller), page),
    ),

    /** Returns a slice, newest first. */
    slice: operation('erasure.slice', READ, async (caller, input: SliceInput): Promise<Slice<Erasure>> => {
      const range = keyRange(input, UUID_KEY);
      const visibility = visibilityOf(caller);
      const rows = await stores.erasures.slice(visibility, range);
      return sliceOf(
        rows,
        range,
        ({ id }) => id,
        () => stores.erasures.count(visibility),
      );
    }),

    /**
     * Returns a part of everything that is stored of a person. Records each part in the audit log, without the address.
     */
    export: operation(
      'recipient.export',
      DANGEROUS,
      async (
        caller,
        input: PersonInput & { readonly after?: string | undefined },
      ): Promise<RecipientExport> => {
        const given = checkPersonalAddress(input.address, input.kind);
        const owner = rowsOf(caller);
        const targets = await findPerson(stores, owner.accountId, owner.environment, given);
        const scope = { ...owner, targets, until: clock.now() };
        const part = await exportPart(stores, addressHashes, scope, given, input.after);
        await uow.run(async (tx) => {
          await recordChange(tx, deps, caller, {
            accountId: owner.accountId,
            action: 'recipient.export',
            target: owner.accountId,
            after: {
              environment: owner.environment,
              kind: given.kind,
              isFirstPart: input.after === undefined,
            },
          });
        });
        return part;
      },
    ),
  };
}

function checkReason(text: string): string {
  const reason = text.trim();
  if (reason.length >= 1 && reason.length <= ERASURE_REASON_MAX_LENGTH) return reason;
  const message = `must have 1 to ${ERASURE_REASON_MAX_LENGTH} characters`;
  throw validationError([{ path: 'reason', message }]);
}

function hasPending({
  count,
  ids,
}: {
  readonly count: number;
  readonly ids: readonly string[];
}): DomainError {
  const what = count === 1 ? 'One message to this person has' : `${count} messages to this person have`;
  return new DomainError(
    'recipient_has_pending_messages',
    `${what} not left yet. Cancel those of details.messageIds with DELETE /developers/messages/:id, or wait, then try again.`,
    { pending: count, messageIds: ids },
  );
}
