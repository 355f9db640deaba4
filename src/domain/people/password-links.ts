import { checkEmail } from '../accounts/new-user.ts';
import { replacePassword } from '../accounts/replace-password.ts';
import { callerFor } from '../accounts/sessions.ts';
import { countMailRequest, forgetFailedAttempts } from '../accounts/sign-in-attempts.ts';
import type { User } from '../accounts/user.ts';
import { recordChange } from '../audit/record-change.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { shownClient } from '../ip-network.ts';
import type { PasskeyJson } from '../ports/passkeys.ts';
import type { Tx } from '../ports/stores.ts';
import { hashToken } from './access-token.ts';
import { type MailLinkKind, RESET_MS } from './mail-link.ts';
import { checkNewPassword } from './password-rules.ts';
import { issueRecoveryCodes, type RecoveryCodes } from './recovery-codes.ts';
import type { SecondFactor } from './second-factor.ts';
import { startNewPasskey, takeNewPasskey } from './take-passkey.ts';

const ENDED: Readonly<Record<MailLinkKind, string>> = {
  invitation: 'The invitation has ended or was accepted already. Ask for another one.',
  password_reset: 'The link has ended or was used already. Ask for another one.',
};

type LinkDependencies = Pick<
  Dependencies,
  'stores' | 'uow' | 'clock' | 'ids' | 'passwords' | 'passkeys' | 'mailer'
>;
interface StoredUser {
  readonly user: User;
  readonly passwordHash: string;
}

/**
 * Lets people set a password with the link in a mail (R300). The methods are not operations, because the people have no
 * session.
 */
export class PasswordLinks {
  readonly #deps: LinkDependencies;

  constructor(deps: LinkDependencies) {
    this.#deps = deps;
  }

  /**
   * Asks for a mail with a link to set another password. Returns false if no mail server is configured. The answer and
   * its time are the same for known and unknown email addresses, because a worker looks them up later. Throws
   * `validation_error` for an invalid email address, and `rate_limit_exceeded` for too many requests.
   */
  async request(email: string, address: string): Promise<boolean> {
    const { uow, clock, mailer } = this.#deps;
    checkEmail(email);
    await uow.run(async (tx) => {
      await countMailRequest(tx, this.#deps, email, address);
      if (!mailer.isConfigured) return;
      const until = new Date(clock.now().getTime() + RESET_MS).toISOString();
      const data = { kind: 'lost_password', email, address: shownClient(address), until } as const;
      await tx.jobs.enqueue([{ queue: 'person-mail', routeKey: 'person-mail', data }]);
    });
    return mailer.isConfigured;
  }

  /** Sets the password of a person who has lost theirs. Throws `validation_error` if the link has ended. */
  resetPassword(token: string, password: string, address: string): Promise<void> {
    return this.#use('password_reset', token, password, address);
  }

  /** Accepts an invitation and sets the first password. Throws `validation_error` if the link has ended. */
  acceptInvitation(token: string, password: string, address: string): Promise<void> {
    return this.#use('invitation', token, password, address);
  }

  /**
   * Returns the options for the authenticator of a person who accepts an invitation with a passkey. Throws
   * `validation_error` if the link has ended.
   */
  async startInvitationPasskey(token: string): Promise<PasskeyJson> {
    const { user } = await this.#find('invitation', token);
    return startNewPasskey(this.#deps, user);
  }

  /**
   * Accepts an invitation and adds a passkey, with which the person signs in without a password. The password becomes a
   * random one that nobody knows. Returns ten recovery codes. Throws `validation_error` if the link has ended, or if
   * the passkey is not valid.
   */
  async acceptWithPasskey(token: string, answer: PasskeyJson, address: string): Promise<RecoveryCodes> {
    const { passwords, clock, ids } = this.#deps;
    const found = await this.#find('invitation', token);
    const userId = found.user.id;
    const credential = await takeNewPasskey(this.#deps, answer, userId);
    const hash = await passwords.hash(ids.random(32).toString('base64url'), found.passwordHash);
    return this.#replace('invitation', token, found, hash, address, async (tx) => {
      const now = clock.now();
      const factor: SecondFactor = {
        ...{ id: ids.uuid(), userId, kind: 'passkey', name: 'Passkey' },
        ...{ createdAt: now, confirmedAt: now, lastUsedAt: null },
      };
      if (!(await tx.secondFactors.insertPasskey(factor, credential)))
        throw validationError([{ path: 'passkey', message: 'is added already' }]);
      return issueRecoveryCodes(tx, ids, userId);
    });
  }

  async #use(kind: MailLinkKind, token: string, password: string, address: string): Promise<void> {
    const found = await this.#find(kind, token);
    checkNewPassword(password, found.user.email, 'password');
    const hash = await this.#deps.passwords.hash(password, found.passwordHash);
    await this.#replace(kind, token, found, hash, address, () => Promise.resolve());
  }

  async #find(kind: MailLinkKind, token: string): Promise<StoredUser> {
    const { stores, clock } = this.#deps;
    const found = await stores.mailLinks.find(hashToken(token), kind, clock.now());
    if (!found) throw endedLink(kind);
    return found;
  }

  /** Sets the password, ends the link, and runs `work` in the same transaction. */
  #replace<T>(
    kind: MailLinkKind,
    token: string,
    { user, passwordHash: knownHash }: StoredUser,
    hash: string,
    address: string,
    work: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    const { uow, clock } = this.#deps;
    return uow.run(async (tx) => {
      // If the link is used twice at the same time, the second use fails here, because the first has replaced the
      // password.
      const password = { hash, isOneTime: false };
      if (!(await replacePassword(tx, this.#deps, user.id, password, { knownHash }))) throw endedLink(kind);
      await tx.mailLinks.remove(hashToken(token));
      await forgetFailedAttempts(tx, user.email);
      if (kind === 'invitation') await tx.users.accept(user.id, clock.now());
      await tx.users.proveEmail(user.id, clock.now());
      const done = await work(tx);
      await recordChange(tx, this.#deps, callerFor(user), {
        accountId: user.accountId,
        action: kind === 'invitation' ? 'member.accept' : 'member.resetPassword',
        target: user.id,
        after: { by: 'mail', address: shownClient(address) },
      });
      return done;
    });
  }
}

function endedLink(kind: MailLinkKind) {
  return validationError([{ path: 'token', message: ENDED[kind] }]);
}
