import { Ctx, Field, ObjectType, Query, Resolver } from 'type-graphql';
import { describeHold, type HoldReason } from '../domain/recovery/hold.ts';
import type { GraphqlContext } from './context.ts';
import { HoldReasonEnum } from './enums.ts';
import { DateTime } from './scalars.ts';

@ObjectType('Hold', {
  simpleResolvers: true,
  description:
    'Why the gateway sends nothing: its data was restored or copied, and another gateway may have gone on with them.',
})
class HoldType {
  @Field(() => HoldReasonEnum, { description: 'Why it is held.' })
  reason!: HoldReason;

  @Field(() => DateTime, { description: 'Since when it is held.' })
  at!: Date;

  @Field(() => DateTime, {
    nullable: true,
    description: 'Until when the data is known to be whole; null where nobody knows.',
  })
  dataUntil!: Date | null;

  @Field(() => String, { description: 'In words, with what ends it.' })
  text!: string;
}

@ObjectType({ description: 'Whether the gateway sends.', simpleResolvers: true })
class Recovery {
  @Field(() => HoldType, {
    nullable: true,
    description: 'Why the gateway sends nothing now; null while it sends.',
  })
  hold!: HoldType | null;
}

@Resolver()
export class HoldResolver {
  @Query(() => Recovery, {
    nullable: true,
    description: 'Whether the gateway sends, or its data was restored or copied.',
  })
  async recovery(@Ctx() { run, operations }: GraphqlContext): Promise<Recovery> {
    const hold = await run(operations.recovery.hold, {});
    return { hold: hold && { ...hold, text: describeHold(hold) } };
  }
}
