/** Explains each scope to the person who chooses scopes for a key, and offers templates (R275). */
import { type Access, SCOPES, type Scope } from '../caller.ts';

export const SCOPE_RISKS = ['low', 'medium', 'high'] as const;

export interface ScopeInfo {
  readonly scope: Scope;
  readonly title: string;
  readonly description: string;
  /** Names of the operations that the scope allows. */
  readonly grants: readonly string[];
  /** Other scopes that allow all of these operations. */
  readonly impliedBy: readonly Scope[];
  /**
   * The damage that somebody could do with a stolen key of this scope. `low`: read little. `medium`: read people's data
   * or spend money. `high`: take over the account.
   */
  readonly risk: (typeof SCOPE_RISKS)[number];
}

const WORDS: Readonly<Record<Scope, Pick<ScopeInfo, 'title' | 'description' | 'risk'>>> = {
  SEND_SMS: {
    title: 'Send SMS',
    description: 'Sends, quotes and cancels SMS, which cost money.',
    risk: 'medium',
  },
  SEND_EMAIL: {
    title: 'Send email',
    description: 'Sends and cancels email from your addresses.',
    risk: 'medium',
  },
  SEND_PUSH: {
    title: 'Send push notifications',
    description: 'Sends and cancels push notifications, and registers and removes devices.',
    risk: 'medium',
  },
  SEND_WHATSAPP: {
    title: 'Send WhatsApp messages',
    description: 'Sends and cancels WhatsApp messages, which cost money, and looks up windows.',
    risk: 'medium',
  },
  READ_MESSAGES: {
    title: 'Read messages',
    description: 'Reads the text, recipients and history of every message, and the event feed.',
    risk: 'medium',
  },
  READ_CONTACTS: {
    title: 'Read contacts',
    description: "Reads people's names, numbers and addresses.",
    risk: 'medium',
  },
  MANAGE_CONTACTS: {
    title: 'Manage contacts',
    description: 'Reads, creates, changes and deletes contacts.',
    risk: 'medium',
  },
  MANAGE_WEBHOOKS: {
    title: 'Manage webhooks',
    description: 'Decides where events go, with the texts in them, and reads their deliveries.',
    risk: 'high',
  },
  MANAGE_SENDERS: {
    title: 'Manage senders',
    description: 'Asks for sender IDs and email domains, verifies domains, and gives senders up.',
    risk: 'medium',
  },
  FULL_ACCESS: {
    title: 'Full access',
    description: 'Everything, keys too, and whatever is added later.',
    risk: 'high',
  },
};

export interface KeyPreset {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scopes: readonly Scope[];
}

/** Templates for the scopes of new keys, the most common first. */
export const KEY_PRESETS: readonly KeyPreset[] = [
  {
    name: 'send_sms',
    title: 'Send SMS only',
    description: 'For a server that sends SMS and needs nothing back.',
    scopes: ['SEND_SMS'],
  },
  {
    name: 'send_all',
    title: 'Send on every channel',
    description: 'For a server that sends SMS, email, push notifications and WhatsApp messages.',
    scopes: ['SEND_SMS', 'SEND_EMAIL', 'SEND_PUSH', 'SEND_WHATSAPP'],
  },
  {
    name: 'send_and_follow',
    title: 'Send SMS and follow them',
    description: 'For a server that sends SMS and looks up what became of them.',
    scopes: ['SEND_SMS', 'READ_MESSAGES'],
  },
  {
    name: 'read_only',
    title: 'Read only',
    description: 'For reports: reads messages and contacts, and changes nothing.',
    scopes: ['READ_MESSAGES', 'READ_CONTACTS'],
  },
  {
    name: 'contacts',
    title: 'Contacts only',
    description: 'For a program that keeps contacts up to date.',
    scopes: ['MANAGE_CONTACTS'],
  },
  {
    name: 'webhooks',
    title: 'Webhooks only',
    description: 'For a deployment that registers its endpoints.',
    scopes: ['MANAGE_WEBHOOKS'],
  },
];

interface Named {
  readonly name: string;
  readonly access: Access;
}

/** Returns every scope, with the names of the `operations` that it allows. */
export function scopeCatalog(operations: readonly Named[]): readonly ScopeInfo[] {
  const grants = new Map(SCOPES.map((scope) => [scope, grantsOf(scope, operations)]));
  return SCOPES.map((scope) => {
    const own = grants.get(scope) ?? [];
    const impliedBy = SCOPES.filter(
      (other) => other !== scope && own.every((name) => grants.get(other)?.includes(name)),
    );
    return { scope, ...WORDS[scope], grants: own, impliedBy };
  });
}

function grantsOf(scope: Scope, operations: readonly Named[]): readonly string[] {
  const admitted = operations.filter(({ access: { scopes } }) => {
    if (scopes === undefined || scopes === 'any') return false;
    return scope === 'FULL_ACCESS' || scopes.includes(scope);
  });
  return admitted.map(({ name }) => name).sort();
}
