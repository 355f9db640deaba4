import { Args, Ctx, ID, Int, ObjectType, Resolver } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { ErasedCounts } from '../domain/recipients/erasure.ts';
import type { AddressKind } from '../domain/recipients/personal-address.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { AddressKindEnum, EnvironmentEnum } from './enums.ts';
import { DateTime, JsonObject } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';
import { Arg, Field, Mutation, Query } from './typed.ts';

@ObjectType('ErasedCounts', {
  description: 'Numbers of what an erasure erased so far, by place.',
  simpleResolvers: true,
})
class ErasedCountsType implements ErasedCounts {
  @Field(() => Int, { description: 'Messages that had the person among their recipients or copies.' })
  messages!: number;

  @Field(() => Int, { description: 'Messages that lost their text, because nobody else got them.' })
  texts!: number;

  @Field(() => Int, { description: 'Addresses of recipients.' })
  recipients!: number;

  @Field(() => Int, { description: 'Events, with what the endpoints answered to them.' })
  events!: number;

  @Field(() => Int, { description: 'Delivery reports that matched no message yet.' })
  reports!: number;

  @Field(() => Int, { description: 'Stored answers of idempotency keys.' })
  answers!: number;

  @Field(() => Int, { description: 'Messages from the person.' })
  inboundMessages!: number;

  @Field(() => Int, { description: 'Contacts that were deleted, or lost an email address that they shared.' })
  contacts!: number;

  @Field(() => Int, { description: 'Cells of imported files.' })
  importFaults!: number;

  @Field(() => Int, { description: 'Devices.' })
  devices!: number;

  @Field(() => Int, { description: 'Suppressions, which stay as a hash.' })
  suppressions!: number;

  @Field(() => Int, { description: 'Counts of messages to a number.' })
  numberCounts!: number;

  @Field(() => Int, { description: 'Whole bodies of logged requests, of everybody.' })
  requestBodies!: number;
}

@ObjectType('Erasure', {
  description: "The erasure of one person's data. Once it is done, it is the receipt.",
  simpleResolvers: true,
})
class ErasureType {
  @Field(() => ID, { description: 'Identifier of the erasure.' })
  id!: string;

  @Field(() => EnvironmentEnum, {
    nullable: true,
    description: 'Environment whose data is erased. Null: both.',
  })
  environment!: Environment | null;

  @Field(() => AddressKindEnum, { description: 'What the address was.' })
  kind!: AddressKind;

  @Field(() => String, {
    description: 'A keyed hash of the address. An address has one hash in an account.',
  })
  addressHash!: string;

  @Field(() => String, { description: 'Why, in words.' })
  reason!: string;

  @Field(() => String, { description: 'The key or person who asked, as in the audit log.' })
  requestedBy!: string;

  @Field(() => DateTime, { description: 'When it was asked for.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When it was done. Null while it is under way.' })
  doneAt!: Date | null;

  @Field(() => ErasedCountsType, { description: 'What it erased so far.' })
  erased!: ErasedCounts;

  @Field(() => Int, { description: 'Number of the audit entry of the request in the chain.' })
  auditSequence!: number;

  @Field(() => Int, { nullable: true, description: 'Number of the audit entry of its end in the chain.' })
  doneAuditSequence!: number | null;
}

@ObjectType('RecipientExport', {
  description: 'A part of everything that is stored of one person.',
  simpleResolvers: true,
})
class RecipientExportType {
  @Field(() => JsonObject, {
    description:
      'Messages in every part, with their events, webhook deliveries, reports and request. In the first also contacts, devices, suppressions, inbound messages, numbers, cells of imports and earlier erasures.',
  })
  recipient!: Readonly<Record<string, unknown>>;

  @Field(() => String, { nullable: true, description: 'Where the next part begins. Null in the last part.' })
  nextAfter!: string | null;
}

const ErasureConnection = connectionOf('Erasure', () => ErasureType);
const ADDRESS = 'A phone number, an email address, or with the kind USER the id of a user.';
const KIND = 'What the address is. Default: EMAIL for a text with an @, otherwise PHONE.';

/** Erasures and exports of one person's data (R490, R493). */
@Resolver(() => ErasureType)
export class ErasureResolver {
  @Query(() => ErasureConnection, { nullable: true, description: 'Erasures of the account, newest first.' })
  async erasures(@Ctx() { run, operations }: GraphqlContext, @Args(() => SliceArgs) slice: SliceArgs) {
    return connection(await run(operations.recipients.slice, { ...slice }));
  }

  @Query(() => ErasureType, { nullable: true, description: 'An erasure, which may be under way.' })
  erasure(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The erasure.' }) id: string,
  ) {
    return run(operations.recipients.get, { id });
  }

  @Mutation(() => ErasureType, {
    description:
      'Erases what is stored of one person in messages, events, deliveries, contacts, devices, imports and logs. A worker does it; `erasure` shows how far it is.',
    errors: ['recipient_has_pending_messages', 'step_up_required'],
  })
  eraseRecipient(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('address', () => String, { description: ADDRESS }) address: string,
    @Arg('reason', () => String, {
      description: 'Why, at most 200 characters. It stays, so do not name the person.',
    })
    reason: string,
    @Arg('kind', () => AddressKindEnum, { nullable: true, description: KIND }) kind?: AddressKind | null,
  ) {
    return run(operations.recipients.erase, { address, reason, kind: kind ?? undefined });
  }

  @Mutation(() => RecipientExportType, {
    description: 'Returns a part of everything that is stored of one person. Each part is audited.',
    errors: ['step_up_required'],
  })
  exportRecipient(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('address', () => String, { description: ADDRESS }) address: string,
    @Arg('kind', () => AddressKindEnum, { nullable: true, description: KIND }) kind?: AddressKind | null,
    @Arg('after', () => String, { nullable: true, description: 'The `nextAfter` of the part before.' })
    after?: string | null,
  ) {
    const input = { address, kind: kind ?? undefined, after: after ?? undefined };
    return run(operations.recipients.export, input);
  }
}
