/**
 * A **mail link** lets its holder set a person's password, once (R300). It accepts an **invitation**, within 72 hours,
 * or is a **password reset**, within an hour. It ends with every change of the password. Its token is 32 random bytes;
 * the store has their SHA-256.
 */
export type MailLinkKind = 'invitation' | 'password_reset';

export const RESET_MS = 3_600_000;

/** The page of the console that takes the link's token. */
export const LINK_PAGES: Readonly<Record<MailLinkKind, string>> = {
  invitation: '/console/accept-invitation',
  password_reset: '/console/reset-password',
};
