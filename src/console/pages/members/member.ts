import type { MembersQuery } from './members.generated.ts';

/** A person of the account, as the list has them. */
export type Member = NonNullable<MembersQuery['members']>[number];
