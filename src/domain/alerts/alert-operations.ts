import { namedAccountId } from '../accounts/account-operations.ts';
import { recordInspection } from '../accounts/inspection.ts';
import type { User } from '../accounts/user.ts';
import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, type FieldFault, forbidden, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import {
  EMPTY_PAGE,
  keyRange,
  type Page,
  type PageRequest,
  type Slice,
  type SliceInput,
  sliceOf,
  UUID_KEY,
} from '../paging.ts';
import type { AlertFilter, AlertOwner } from '../ports/alert-store.ts';
import type { Stores } from '../ports/stores.ts';
import { isUuid } from '../uuid.ts';
import {
  ALERT_KIND_DESCRIPTIONS,
  type Alert,
  type AlertKind,
  type AlertRule,
  KINDS_ABOUT_PEOPLE,
  kindsOf,
  ruleOf,
  type Threshold,
} from './alert.ts';

const READ = { scopes: ['READ_MESSAGES'], roles: ACCOUNT_ROLES, operator: 'reading' } as const;
/** Rules have email addresses of people, as the list of members has, which keys do not see. */
const READ_RULES = { scopes: [], roles: ACCOUNT_ROLES, operator: 'reading' } as const;
const WRITE = { scopes: [], roles: ['OWNER', 'ADMIN'], operator: true } as const;
/** Largest number of people who get mails about a kind of alert. */
export const ALERT_MAILS_MAX = 20;

/** A rule as both APIs show it. */
export interface ShownRule extends AlertRule {
  /** When an alert opens, in a sentence. */
  readonly description: string;
  /** What the threshold counts, and the values that it may have. Null for a kind without threshold. */
  readonly thresholdUnit: Threshold['unit'] | null;
  readonly defaultThreshold: number | null;
  /** False if this gateway lacks what the kind needs: alerts about sign-ins need countries (R487). */
  readonly isAvailable: boolean;
  /** Email addresses. Null: the owners and administrators, or all operators. */
  readonly mailTo: readonly string[] | null;
}

interface OfOwner {
  /** Default: the caller's own account. For operators: what concerns all accounts. */
  readonly accountId?: string | null | undefined;
}

/** A change of a rule. Absent: not changed. Null: the default. */
export interface SetRuleInput extends OfOwner {
  readonly kind: AlertKind;
  readonly isEnabled?: boolean | undefined;
  readonly threshold?: number | null | undefined;
  readonly mailTo?: readonly string[] | null | undefined;
}

/** Operations on alerts and their rules (R480 to R486). */
export function alertOperations(deps: Dependencies) {
  const { stores, uow, clock, countries } = deps;

  /** Returns whose alerts are meant. Throws `not_found` for an account that the caller may not read. */
  async function ownerOf(caller: Caller, named: string | null | undefined): Promise<AlertOwner> {
    if (caller.kind !== 'operator') return namedAccountId(caller, named);
    if (named === undefined || named === null) return null;
    const account = isUuid(named) ? await stores.accounts.find(named) : undefined;
    if (!account) throw notFound('Account');
    return account.id;
  }

  /** Like `ownerOf`, to read. That an operator reads an account is recorded in its audit log (R290). */
  async function readOwner(caller: Caller, named: string | null | undefined): Promise<AlertOwner> {
    const owner = await ownerOf(caller, named);
    if (caller.kind !== 'operator' || owner === null) return owner;
    await uow.run((tx) => recordInspection(tx, deps, caller, owner, undefined));
    return owner;
  }

  const peopleOf = (from: Pick<Stores, 'users'>, owner: AlertOwner): Promise<readonly User[]> =>
    owner === null ? from.users.operators() : from.users.members(owner);

  function shownRule(rule: AlertRule, people: readonly User[]): ShownRule {
    const { threshold, description } = ALERT_KIND_DESCRIPTIONS[rule.kind];
    const emails = people.filter(({ id }) => rule.mailTo?.includes(id)).map(({ email }) => email);
    return {
      ...rule,
      description,
      thresholdUnit: threshold?.unit ?? null,
      defaultThreshold: threshold?.standard ?? null,
      isAvailable: rule.kind !== 'sign_in_new_country' || countries.isConfigured,
      mailTo: rule.mailTo && emails,
    };
  }

  return {
    /** Returns the rules of an account, or of the operators. */
    rules: operation(
      'alert.rules',
      READ_RULES,
      async (caller, input: OfOwner): Promise<readonly ShownRule[]> => {
        refuseSandbox(caller);
        const owner = await readOwner(caller, input.accountId);
        const [changes, people] = await Promise.all([
          stores.alerts.ruleChanges([owner]),
          peopleOf(stores, owner),
        ]);
        return kindsOf(owner).map((kind) => shownRule(ruleOf(changes, owner, kind), people));
      },
    ),

    /** Changes a rule (R484). It holds from the next look at the account on, in every process. */
    setRule: operation('alert.setRule', WRITE, async (caller, input: SetRuleInput): Promise<ShownRule> => {
      refuseSandbox(caller);
      const owner = await ownerOf(caller, input.accountId);
      const { kind } = input;
      return uow.run(async (tx) => {
        await tx.alerts.lockRules();
        const people = await peopleOf(tx, owner);
        const checked = checkAll({
          kind: () => checkKind(kind, owner),
          threshold: () => checkThreshold(kind, input.threshold),
          mailTo: () => checkMailTo(people, input.mailTo),
        });
        const changes = await tx.alerts.ruleChanges([owner]);
        const stored = changes.find((each) => each.kind === kind);
        const isEnabled = input.isEnabled ?? stored?.isEnabled ?? true;
        const change = {
          accountId: owner,
          kind,
          isEnabled,
          threshold: checked.threshold === undefined ? (stored?.threshold ?? null) : checked.threshold,
          mailTo: checked.mailTo === undefined ? (stored?.mailTo ?? null) : checked.mailTo,
        };
        await tx.alerts.setRule(change, clock.now());
        const [before, after] = [ruleOf(changes, owner, kind), ruleOf([change], owner, kind)];
        await recordChange(tx, deps, caller, {
          accountId: owner,
          action: 'alert.setRule',
          target: kind,
          before,
          after,
        });
        return shownRule(after, people);
      });
    }),

    /**
     * Returns one page of an account's alerts, newest first. A sandbox key finds none, because alerts are about
     * production. No key finds alerts about people.
     */
    list: operation(
      'alert.list',
      READ,
      async (
        caller,
        { page, ...filter }: AlertFilter & { readonly page: PageRequest },
      ): Promise<Page<Alert>> => {
        if (caller.kind === 'api-key' && caller.environment === 'sandbox') return EMPTY_PAGE;
        const without = caller.kind === 'api-key' ? KINDS_ABOUT_PEOPLE : [];
        return stores.alerts.page(await ownerOf(caller, undefined), { ...filter, without }, page);
      },
    ),

    /** Returns a slice of the alerts of an account or of the operators, newest first. */
    slice: operation(
      'alert.slice',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (caller, input: SliceInput & AlertFilter & OfOwner): Promise<Slice<Alert>> => {
        const range = keyRange(input, UUID_KEY);
        const owner = await readOwner(caller, input.accountId);
        const filter = { state: input.state, kind: input.kind };
        return sliceOf(
          await stores.alerts.slice(owner, filter, range),
          range,
          ({ id }) => id,
          () => stores.alerts.count(owner, filter),
        );
      },
    ),
  };
}

function refuseSandbox(caller: Caller): void {
  if (caller.kind !== 'api-key' || caller.environment !== 'sandbox') return;
  throw forbidden('Alerts are about production. Use a production key.');
}

function checkKind(kind: AlertKind, owner: AlertOwner): AlertKind {
  const kinds = kindsOf(owner);
  if (kinds.includes(kind)) return kind;
  const whose = owner === null ? 'the operators' : 'an account';
  throw validationError([{ path: 'kind', message: `must be a kind of ${whose}: ${kinds.join(', ')}` }]);
}

function checkThreshold(kind: AlertKind, value: number | null | undefined): number | null | undefined {
  if (value === undefined || value === null) return value;
  const { threshold } = ALERT_KIND_DESCRIPTIONS[kind];
  if (threshold === null) {
    throw validationError([{ path: 'threshold', message: `${kind} has no threshold` }]);
  }
  if (Number.isFinite(value) && value >= threshold.least && value <= threshold.most) return value;
  const range = `${threshold.least} to ${threshold.most} ${threshold.unit}`;
  throw validationError([{ path: 'threshold', message: `must be ${range}` }]);
}

/** Returns the ids of the people with these email addresses. */
function checkMailTo(
  people: readonly User[],
  emails: readonly string[] | null | undefined,
): readonly string[] | null | undefined {
  if (emails === undefined || emails === null) return emails;
  if (emails.length > ALERT_MAILS_MAX) {
    throw validationError([{ path: 'mailTo', message: `at most ${ALERT_MAILS_MAX} people` }]);
  }
  const faults: FieldFault[] = [];
  const ids = emails.flatMap((email, index) => {
    const person = people.find((each) => each.email.toLowerCase() === email.trim().toLowerCase());
    if (person) return [person.id];
    faults.push({ path: `mailTo.${index}`, message: 'must be the email address of a person of the account' });
    return [];
  });
  if (faults.length > 0) throw validationError(faults);
  return [...new Set(ids)];
}
