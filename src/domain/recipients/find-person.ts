import type { Environment } from '../caller.ts';
import { ENVIRONMENTS } from '../caller.ts';
import type { Contact } from '../contacts/contact.ts';
import { deviceAddress } from '../devices/device.ts';
import type { ContactNames } from '../ports/contact-stores.ts';
import type { Stores } from '../ports/stores.ts';
import { FIRST_UUID } from '../uuid.ts';
import { addressesOfKind, type PersonalAddress, type TargetAddress } from './personal-address.ts';

/** Number of devices that one statement reads. */
const DEVICES = 1_000;

/** Returns the environments of an erasure or export. */
export function environmentsOf(environment: Environment | null): readonly Environment[] {
  return environment === null ? ENVIRONMENTS : [environment];
}

/** Returns the values by which contacts of these addresses are found. */
export function contactNames(targets: readonly TargetAddress[]): ContactNames {
  return {
    phones: addressesOfKind(targets, 'phone'),
    externalIds: addressesOfKind(targets, 'user'),
    emails: addressesOfKind(targets, 'email'),
  };
}

/**
 * Returns the addresses of the person who has this one, and those of their devices (R490). If one contact only has it,
 * the contact is the person, so its other addresses are theirs, except an email address that another contact has, too.
 * If several contacts share the address, nobody knows whose the other addresses are.
 */
export async function findPerson(
  { contacts, persons }: Pick<Stores, 'contacts' | 'persons'>,
  accountId: string,
  environment: Environment | null,
  given: PersonalAddress,
): Promise<readonly TargetAddress[]> {
  const found = new Map<string, TargetAddress>();
  const add = (target: TargetAddress) => found.set(`${target.kind} ${target.address}`, target);
  add(given);
  for (const each of environmentsOf(environment)) {
    const owner = { accountId, environment: each };
    const [contact, other] = distinct(await contacts.findNamed(owner, contactNames([given])));
    if (!contact || other) continue;
    const { phone, email, externalId } = contact;
    if (phone !== null) add({ kind: 'phone', address: phone });
    if (externalId !== null) add({ kind: 'user', address: externalId });
    if (email === null) continue;
    const sharing = await contacts.findNamed(owner, { phones: [], externalIds: [], emails: [email] });
    if (distinct(sharing).length === 1) add({ kind: 'email', address: email.toLowerCase() });
  }
  const scope = { accountId, environment, targets: [...found.values()], until: new Date(0) };
  let afterId: string | undefined = FIRST_UUID;
  while (afterId !== undefined && addressesOfKind(scope.targets, 'user').length > 0) {
    const page = await persons.devicesAfter(scope, afterId, DEVICES);
    for (const device of page) add({ kind: 'device', address: deviceAddress(device) });
    afterId = page.length === DEVICES ? page.at(-1)?.id : undefined;
  }
  return [...found.values()];
}

function distinct(contacts: readonly Contact[]): readonly Contact[] {
  return [...new Map(contacts.map((contact) => [contact.id, contact])).values()];
}
