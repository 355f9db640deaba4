import { Args, Ctx, ID, InputType, ObjectType, Resolver } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Platform } from '../domain/devices/device.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum, PlatformEnum } from './enums.ts';
import { given } from './given.ts';
import { Node } from './node.graphql.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';
import { Arg, Field, InputField, Mutation, Query } from './typed.ts';

@ObjectType('Device', {
  implements: Node,
  description: 'An installation of your app, or a browser, that push notifications can reach.',
  simpleResolvers: true,
})
class DeviceType {
  @Field(() => ID, { description: 'Identifier of the device.' })
  id!: string;

  @Field(() => EnvironmentEnum, {
    description: 'Environment of the device. Messages of this environment reach it.',
  })
  environment!: Environment;

  @Field(() => PlatformEnum, { description: 'Platform of the device.' })
  platform!: Platform;

  @Field(() => String, {
    description: 'Token that the platform gave; on the web, the endpoint of the subscription.',
  })
  token!: string;

  @Field(() => String, { description: 'Identifier of its user in your system.' })
  userId!: string;

  @Field(() => DateTime, { description: 'When it was first registered.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When it was last registered.' })
  updatedAt!: Date;
}

@InputType({ description: 'Keys of a Web Push subscription.' })
class DeviceKeysInput {
  @InputField(() => String, { description: 'Public key of the subscription, base64url.' })
  p256dh!: string;

  @InputField(() => String, { description: 'Authentication secret of the subscription, base64url.' })
  auth!: string;
}

@InputType({ description: 'A device. Registering a known token updates its device.' })
class RegisterDeviceInput {
  @InputField(() => String, {
    description: 'Token that the platform gave; on the web, the endpoint of the subscription.',
  })
  token!: string;

  @InputField(() => PlatformEnum, { description: 'Platform of the device.' })
  platform!: Platform;

  @InputField(() => String, { description: 'Identifier of its user in your system.' })
  userId!: string;

  @InputField(() => DeviceKeysInput, { nullable: true, description: 'Required on the web.' })
  keys?: DeviceKeysInput | null;

  @InputField(() => EnvironmentEnum, {
    nullable: true,
    description: 'Environment. Default: PRODUCTION.',
  })
  environment?: Environment | null;
}

const DeviceConnection = connectionOf('Device', () => DeviceType);

@Resolver(() => DeviceType)
export class DeviceResolver {
  @Query(() => DeviceConnection, {
    nullable: true,
    description: "The account's devices in one environment, newest first.",
  })
  async devices(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Environment. Default: PRODUCTION.',
    })
    environment?: Environment | null,
  ) {
    return connection(
      await run(operations.devices.slice, { ...slice, environment: environment ?? undefined }),
    );
  }

  @Query(() => DeviceType, { nullable: true, description: 'One device.' })
  device(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The device.' }) id: string,
  ) {
    return run(operations.devices.get, { id });
  }

  @Query(() => String, {
    nullable: true,
    description: 'The key that browsers subscribe with (`applicationServerKey` of VAPID), in base64url.',
  })
  webPushKey(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.devices.webPushKey, {});
  }

  @Mutation(() => DeviceType, { description: 'Registers a device for push notifications.', errors: [] })
  registerDevice(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => RegisterDeviceInput, { description: 'The device.' }) input: RegisterDeviceInput,
  ) {
    const { keys, environment } = given(input);
    return run(operations.devices.register, { ...input, keys, environment });
  }

  @Mutation(() => Boolean, { description: 'Deletes a device.', errors: ['not_found'] })
  async removeDevice(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The device.' }) id: string,
  ) {
    await run(operations.devices.remove, { id });
    return true;
  }
}
