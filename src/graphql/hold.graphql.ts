import { Ctx, ObjectType, Resolver } from 'type-graphql';
import { describeHold, type HoldReason } from '../domain/recovery/hold.ts';
import type { GraphqlContext } from './context.ts';
import { HoldReasonEnum } from './enums.ts';
import { DateTime } from './scalars.ts';
import { Field, Query } from './typed.ts';

@ObjectType('Hold', {
  simpleResolvers: true,
  description:
    'Why the gateway sends nothing: its data was restored or copied, and another gateway may have sent since.',
})
class HoldType {
  @Field(() => HoldReasonEnum, { description: 'Reason of the hold.' })
  reason!: HoldReason;

  @Field(() => DateTime, { description: 'When the hold began.' })
  at!: Date;

  @Field(() => DateTime, {
    nullable: true,
    description: 'Time up to which the data is known to be complete. Null if that is unknown.',
  })
  dataUntil!: Date | null;

  @Field(() => String, { description: 'The reason in words, and how to end the hold.' })
  text!: string;
}

@ObjectType({ description: 'Whether the gateway sends.', simpleResolvers: true })
class Recovery {
  @Field(() => HoldType, {
    nullable: true,
    description: 'Why the gateway sends nothing now. Null while it sends.',
  })
  hold!: HoldType | null;
}

@Resolver()
export class HoldResolver {
  @Query(() => Recovery, {
    nullable: true,
    description: 'Whether the gateway sends, or holds data that was restored or copied.',
  })
  async recovery(@Ctx() { run, operations }: GraphqlContext): Promise<Recovery> {
    const hold = await run(operations.recovery.hold, {});
    return { hold: hold && { ...hold, text: describeHold(hold) } };
  }
}
