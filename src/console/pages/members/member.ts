import type { MembersQuery } from './members.generated.ts';

/** A person of the account. */
export type Member = NonNullable<MembersQuery['members']>[number];
