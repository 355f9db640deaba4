import { invitationExpiresAt, type User } from '../../domain/accounts/user.ts';
import { personOf } from '../../domain/alerts/alert.ts';
import { ALERT_SUBJECTS } from '../../domain/alerts/change-alerts.ts';
import { recordChange } from '../../domain/audit/record-change.ts';
import type { SystemCaller } from '../../domain/caller.ts';
import { hashToken } from '../../domain/people/access-token.ts';
import { LINK_PAGES, type MailLinkKind, RESET_MS } from '../../domain/people/mail-link.ts';
import type { HeldJob, PersonMailJob } from '../../domain/ports/job-queue.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { Mailer, PersonMail } from '../../domain/ports/mailer.ts';
import type { Stores, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids } from '../../domain/ports/system.ts';
import { timeOf } from './mail-time.ts';
import { signInLetter } from './sign-in-letter.ts';

const MAIL: SystemCaller = { kind: 'system', name: 'mail' };
/** For one request, at most this many people with the same email address get a mail. */
const PEOPLE_MAX = 10;

export interface PersonMailParts {
  readonly stores: Stores;
  readonly uow: UnitOfWork;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly mailer: Mailer;
  readonly logger: Logger;
  /** The external URL of the gateway, for links. */
  readonly publicUrl: () => string;
  readonly productName: string;
}

/**
 * Sends mails to people who sign in (R300). The token of a link is created here, just before it is mailed. So only its
 * hash is stored. A repeated job mails another link, and the earlier link still works.
 */
export class PersonMails {
  readonly #parts: PersonMailParts;

  constructor(parts: PersonMailParts) {
    this.#parts = parts;
  }

  /**
   * Sends the mail. Rejects if the mail server cannot be used, and the job is then repeated. A mail that is too late to
   * be useful is not sent.
   */
  async handle({ data }: HeldJob<'person-mail'>, signal: AbortSignal): Promise<void> {
    if (new Date(data.until) <= this.#parts.clock.now()) {
      this.#parts.logger.warn({ kind: data.kind }, 'a mail to a person could not be sent in time');
    } else if (data.kind === 'lost_password') await this.#split(data);
    else if (data.kind === 'link') await this.#mailLink(data, signal);
    else if (data.kind === 'factors_reset') await this.#mailReset(data, signal);
    else if (data.kind === 'reset_requested') await this.#mailResetRequest(data, signal);
    else if (data.kind === 'password_reset') await this.#mailPasswordReset(data, signal);
    else if (data.kind === 'domain_lost') await this.#mailDomainLost(data, signal);
    else if (data.kind === 'alert') await this.#mailAlert(data, signal);
    else await this.#mailNewDevice(data, signal);
  }

  /** Enqueues a job for each person with the email address. So if one mail fails, only that mail is repeated. */
  async #split({ email, address, until }: PersonMailJob & { kind: 'lost_password' }): Promise<void> {
    const people = await this.#parts.stores.users.withEmail(email);
    const jobs = people.slice(0, PEOPLE_MAX).map(({ id: userId }) => {
      const data = { kind: 'link', userId, address, until } as const;
      return { queue: 'person-mail', routeKey: 'person-mail', data } as const;
    });
    if (jobs.length > 0) await this.#parts.uow.run((tx) => tx.jobs.enqueue(jobs));
  }

  async #mailLink({ userId, address }: PersonMailJob & { kind: 'link' }, signal: AbortSignal): Promise<void> {
    const { stores, uow, clock, ids } = this.#parts;
    const found = await stores.users.find(userId);
    if (!found) return;
    const { user, passwordHash } = found;
    const now = clock.now();
    const invitedUntil = invitationExpiresAt(user);
    const kind = invitedUntil ? 'invitation' : 'password_reset';
    const expiresAt = invitedUntil ?? new Date(now.getTime() + RESET_MS);
    const token = ids.random(32).toString('base64url');
    const tokenHash = hashToken(token);
    const mail = await this.#letter(kind, user, token, expiresAt);
    await uow.run(async (tx) => {
      await tx.mailLinks.forgetEnded(now);
      await tx.mailLinks.insert({ tokenHash, userId, kind, passwordHash, expiresAt });
      await recordChange(tx, this.#parts, MAIL, {
        accountId: user.accountId,
        action: kind === 'invitation' ? 'member.mailInvitation' : 'member.mailPasswordReset',
        target: userId,
        after: { address },
      });
    });
    await this.#send(mail, signal).catch(async (error: unknown) => {
      await stores.mailLinks.remove(tokenHash);
      throw error;
    });
  }

  #mailReset({ userId, at, until }: PersonMailJob & { kind: 'factors_reset' }, signal: AbortSignal) {
    return this.#notify(userId, until, signal, ({ email }) => ({
      subject: `Your second factor at ${this.#parts.productName} was removed`,
      lines: [
        `The second factors of ${email} were removed by somebody else, at ${timeOf(new Date(at))}, and your sessions have ended.`,
        'If you asked for it, sign in and add another one.',
        `If not, change your password at once and tell who runs the gateway: ${this.#parts.publicUrl()}/console/`,
      ],
    }));
  }

  #mailResetRequest(
    { userId, of, by, until }: PersonMailJob & { kind: 'reset_requested' },
    signal: AbortSignal,
  ) {
    const { productName, publicUrl } = this.#parts;
    const what = of === 'factors' ? 'remove the second factors' : 'replace the password';
    return this.#notify(userId, until, signal, ({ email }) => ({
      subject: `Somebody asks to reset your sign-in at ${productName}`,
      lines: [
        `The operator ${by} asked to ${what} of ${email}. It happens when a second operator confirms it, until ${timeOf(new Date(until))}.`,
        'If you asked for it, there is nothing to do.',
        `If not, sign in and refuse it: ${publicUrl()}/console/operators`,
      ],
    }));
  }

  #mailPasswordReset({ userId, at, until }: PersonMailJob & { kind: 'password_reset' }, signal: AbortSignal) {
    return this.#notify(userId, until, signal, ({ email }) => ({
      subject: `Your password at ${this.#parts.productName} was replaced`,
      lines: [
        `Two operators replaced the password of ${email} by a one-time password, at ${timeOf(new Date(at))}, and your sessions have ended.`,
        'If you asked for it, get one part of the password from each of them, and sign in.',
        'If not, tell who runs the gateway at once.',
      ],
    }));
  }

  #mailDomainLost(
    { userId, domain, record, until }: PersonMailJob & { kind: 'domain_lost' },
    signal: AbortSignal,
  ) {
    const { productName, publicUrl } = this.#parts;
    return this.#notify(userId, until, signal, () => ({
      subject: `The DNS record of ${domain} is gone`,
      lines: [
        `Single sign-on of your account at ${productName} needs the TXT record ${record.name} with the text ${record.value}. The DNS of ${domain} does not have it any more.`,
        'People who have signed in by your provider before still can. Nobody else can, until the record is back.',
        `Add the record again, then choose "Check now": ${publicUrl()}/console/security`,
      ],
    }));
  }

  async #mailAlert(
    { userId, alertId, state, until }: PersonMailJob & { kind: 'alert' },
    signal: AbortSignal,
  ): Promise<void> {
    const { stores, productName, publicUrl } = this.#parts;
    const alert = await stores.alerts.find(alertId);
    if (!alert) return;
    const person = personOf(alert);
    // The mail waited, and the cause has ended meanwhile: a later mail says so. A mail about a sign-in leaves all the
    // same: somebody else may have confirmed it.
    if (state === 'open' && alert.resolvedAt !== null && person === undefined) return;
    const account = alert.accountId === null ? undefined : await stores.accounts.find(alert.accountId);
    const consoleUrl = `${publicUrl()}/console`;
    const where = account ? `${account.name} at ${productName}` : productName;
    const subject = `${ALERT_SUBJECTS[alert.kind]}: ${where}`;
    if (person !== undefined) {
      const letter = signInLetter({ alert, state, subject, isOwn: person === userId, consoleUrl });
      await this.#notify(userId, until, signal, () => letter);
      return;
    }
    await this.#notify(userId, until, signal, () =>
      state === 'open'
        ? {
            subject,
            lines: [alert.summary, `All alerts, and who gets mails about them: ${consoleUrl}/alerts`],
          }
        : {
            subject: `Resolved: ${subject}`,
            lines: [
              `This ended at ${timeOf(alert.resolvedAt ?? this.#parts.clock.now())}:`,
              alert.summary,
              `All alerts: ${consoleUrl}/alerts`,
            ],
          },
    );
  }

  #mailNewDevice(
    { userId, device, address, at, until }: PersonMailJob & { kind: 'new_device' },
    signal: AbortSignal,
  ) {
    return this.#notify(userId, until, signal, ({ email }) => ({
      subject: `A new device signed in at ${this.#parts.productName}`,
      lines: [
        `Somebody signed in as ${email} from a device that is new: ${device}, from ${address}, at ${timeOf(new Date(at))}.`,
        'If it was you, there is nothing to do.',
        `If not, change your password and end that session: ${this.#parts.publicUrl()}/console/security`,
      ],
    }));
  }

  /** Mails a person what has happened to their sign-in. A person who was removed gets no mail. */
  async #notify(
    userId: string,
    until: string,
    signal: AbortSignal,
    letterTo: (user: User) => { readonly subject: string; readonly lines: readonly string[] },
  ): Promise<void> {
    const { stores, ids } = this.#parts;
    const found = await stores.users.find(userId);
    if (!found) return;
    const { subject, lines } = letterTo(found.user);
    const mail = {
      id: ids.uuid(),
      to: found.user.email,
      subject,
      text: textOf(lines),
      expiresAt: new Date(until),
    };
    await this.#send(mail, signal);
  }

  /** Rejects if the mail server cannot be used. A mail that the server refuses is only logged. */
  async #send(mail: PersonMail, signal: AbortSignal): Promise<void> {
    const outcome = await this.#parts.mailer.send(mail, signal);
    if (outcome.kind === 'unavailable') throw new Error(`the mail server cannot be used: ${outcome.reason}`);
    if (outcome.kind === 'rejected')
      this.#parts.logger.warn({ code: outcome.code }, 'the mail server refused a mail to a person');
  }

  async #letter(kind: MailLinkKind, user: User, token: string, expiresAt: Date): Promise<PersonMail> {
    const { stores, ids, publicUrl, productName } = this.#parts;
    const account = user.accountId === null ? undefined : await stores.accounts.find(user.accountId);
    const where = account ? `the account ${account.name} at ${productName}` : productName;
    const link = `${publicUrl()}${LINK_PAGES[kind]}?token=${token}`;
    const until = timeOf(expiresAt);
    const lines = {
      invitation: [
        `You are invited to ${where}.`,
        'Open this link to accept and to choose your password:',
        link,
        `It works once, until ${until}. If you do not know who invited you, ignore this mail.`,
      ],
      password_reset: [
        `Somebody, probably you, has lost the password of ${user.email} for ${where}.`,
        'Open this link to choose another one:',
        link,
        `It works once, until ${until}. If it was not you, ignore this mail: your password stays.`,
      ],
    };
    return {
      id: ids.uuid(),
      to: user.email,
      subject:
        kind === 'invitation'
          ? `Your invitation to ${productName}`
          : `Set another password at ${productName}`,
      text: textOf(lines[kind]),
      expiresAt,
    };
  }
}

const textOf = (paragraphs: readonly string[]) => `${paragraphs.join('\n\n')}\n`;
