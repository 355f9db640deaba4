import { Ctx, ObjectType, Resolver } from 'type-graphql';
import type { SessionWindow } from '../domain/messages/whatsapp-window.ts';
import type { GraphqlContext } from './context.ts';
import { DateTime } from './scalars.ts';
import { Arg, Field, Query } from './typed.ts';

@ObjectType({ description: 'Whether free text may be sent to a WhatsApp number.', simpleResolvers: true })
class WhatsAppWindow implements SessionWindow {
  @Field(() => String, { description: 'The number, in E.164.' })
  to!: string;

  @Field(() => Boolean, { description: 'Whether text and media can be sent now.' })
  isOpen!: boolean;

  @Field(() => DateTime, {
    nullable: true,
    description:
      "The recipient's last message to this account. It counts for the account that wrote to the recipient last.",
  })
  lastInboundAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When the window closes, or closed.' })
  closesAt!: Date | null;
}

@Resolver()
export class WhatsAppWindowResolver {
  @Query(() => WhatsAppWindow, {
    nullable: true,
    description: 'Whether free text can be sent to a WhatsApp number now.',
  })
  whatsAppWindow(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('to', () => String, { description: 'One number, in any form that an SMS takes.' }) to: string,
  ) {
    return run(operations.messages.whatsAppWindow, { to });
  }
}
