import { checkEmail } from '../accounts/new-user.ts';
import { replacePassword } from '../accounts/replace-password.ts';
import { callerFor } from '../accounts/sessions.ts';
import { countMailRequest, forgetFailedAttempts } from '../accounts/sign-in-attempts.ts';
import { recordChange } from '../audit/record-change.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { shownClient } from '../ip-network.ts';
import { hashToken } from './access-token.ts';
import { type MailLinkKind, RESET_MS } from './mail-link.ts';
import { checkNewPassword } from './password-rules.ts';

const ENDED: Readonly<Record<MailLinkKind, string>> = {
  invitation: 'The invitation has ended or was accepted already. Ask for another one.',
  password_reset: 'The link has ended or was used already. Ask for another one.',
};

/**
 * Lets people set a password by the link in a mail (R300). These are not operations, because the people have no
 * session.
 */
export class PasswordLinks {
  readonly #deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids' | 'passwords' | 'mailer'>;

  constructor(deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids' | 'passwords' | 'mailer'>) {
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

  async #use(kind: MailLinkKind, token: string, password: string, address: string): Promise<void> {
    const { stores, uow, clock, passwords } = this.#deps;
    const tokenHash = hashToken(token);
    const ended = () => validationError([{ path: 'token', message: ENDED[kind] }]);
    const found = await stores.mailLinks.find(tokenHash, kind, clock.now());
    if (!found) throw ended();
    const { user, passwordHash: knownHash } = found;
    checkNewPassword(password, user.email, 'password');
    const hash = await passwords.hash(password, knownHash);
    await uow.run(async (tx) => {
      // If the link is used twice at the same time, the second use fails here, because the password is no longer the
      // known one.
      const isChanged = await replacePassword(
        tx,
        this.#deps,
        user.id,
        { hash, isOneTime: false },
        { knownHash },
      );
      if (!isChanged) throw ended();
      await tx.mailLinks.remove(tokenHash);
      await forgetFailedAttempts(tx, user.email);
      if (kind === 'invitation') await tx.users.accept(user.id, clock.now());
      await recordChange(tx, this.#deps, callerFor(user), {
        accountId: user.accountId,
        action: kind === 'invitation' ? 'member.accept' : 'member.resetPassword',
        target: user.id,
        after: { by: 'mail', address: shownClient(address) },
      });
    });
  }
}
