/**
 * A **mail link** lets the person who has it set a password, once (R300). An **invitation** is valid for 72 hours, a
 * **password reset** for one hour. A link also ends when the person's password changes. Its token is 32 random bytes.
 * The store has their SHA-256.
 */
export type MailLinkKind = 'invitation' | 'password_reset';

export const RESET_MS = 3_600_000;

/** The page of the console that the link opens. It reads the token from the link. */
export const LINK_PAGES: Readonly<Record<MailLinkKind, string>> = {
  invitation: '/console/accept-invitation',
  password_reset: '/console/reset-password',
};
