import { Arg, Args, Ctx, Field, ID, InputType, Mutation, ObjectType, Query, Resolver } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Platform } from '../domain/devices/device.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum, PlatformEnum } from './enums.ts';
import { given } from './given.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';

@ObjectType('Device', {
  description: "One installation of the account's app, or one browser, that push messages can reach.",
  simpleResolvers: true,
})
class DeviceType {
  @Field(() => ID, { description: 'Identifier of the device.' })
  id!: string;

  @Field(() => EnvironmentEnum, { description: 'Where it belongs: messages of this environment reach it.' })
  environment!: Environment;

  @Field(() => PlatformEnum, { description: 'What the device is.' })
  platform!: Platform;

  @Field(() => String, { description: 'What names it to its platform.' })
  token!: string;

  @Field(() => String, { description: "Who uses it, by the account's own naming." })
  userId!: string;

  @Field(() => DateTime, { description: 'When it was first registered.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When its token was last registered.' })
  updatedAt!: Date;
}

@InputType({ description: "What a browser's subscription holds besides its endpoint." })
class DeviceKeysInput {
  @Field(() => String, { description: 'Public key of the subscription, base64url.' })
  p256dh!: string;

  @Field(() => String, { description: 'Authentication secret of the subscription, base64url.' })
  auth!: string;
}

@InputType({ description: 'A device; the same token again updates the one that has it.' })
class RegisterDeviceInput {
  @Field(() => String, {
    description: "What names it to its platform; on the web the subscription's endpoint.",
  })
  token!: string;

  @Field(() => PlatformEnum, { description: 'What the device is.' })
  platform!: Platform;

  @Field(() => String, { description: "Who uses it, by the account's own naming." })
  userId!: string;

  @Field(() => DeviceKeysInput, { nullable: true, description: 'Needed on the web.' })
  keys?: DeviceKeysInput | null;

  @Field(() => EnvironmentEnum, {
    nullable: true,
    description: 'Where to register it; PRODUCTION when absent.',
  })
  environment?: Environment | null;
}

const DeviceConnection = connectionOf('Device', () => DeviceType);

@Resolver(() => DeviceType)
export class DeviceResolver {
  @Query(() => DeviceConnection, {
    nullable: true,
    description: "The account's devices in an environment, the newest first.",
  })
  async devices(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Where they belong; PRODUCTION when absent.',
    })
    environment?: Environment | null,
  ) {
    return connection(
      await run(operations.devices.slice, { ...slice, environment: environment ?? undefined }),
    );
  }

  @Mutation(() => DeviceType, { description: 'Registers a device.' })
  registerDevice(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => RegisterDeviceInput, { description: 'The device.' }) input: RegisterDeviceInput,
  ) {
    const { keys, environment } = given(input);
    return run(operations.devices.register, { ...input, keys, environment });
  }

  @Mutation(() => Boolean, { description: 'Removes a device.' })
  async removeDevice(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The device.' }) id: string,
  ) {
    await run(operations.devices.remove, { id });
    return true;
  }
}
