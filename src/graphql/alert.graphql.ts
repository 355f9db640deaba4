import { Args, Ctx, Float, ID, InputType, ObjectType, Resolver, Root } from 'type-graphql';
import {
  type Alert,
  type AlertDetail,
  type AlertKind,
  type AlertState,
  stateOf,
  type Threshold,
} from '../domain/alerts/alert.ts';
import { ALERT_MAILS_MAX, type ShownRule } from '../domain/alerts/alert-operations.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { AlertKindEnum, AlertStateEnum, ThresholdUnitEnum } from './enums.ts';
import { given } from './given.ts';
import { DateTime, JsonObject } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';
import { Arg, Field, FieldResolver, InputField, Mutation, Query } from './typed.ts';

@ObjectType('Alert', {
  description: 'Something that needs people: the balance is low, a webhook is failing and so on.',
  simpleResolvers: true,
})
export class AlertType implements Omit<Alert, 'cause'> {
  @Field(() => ID, { description: 'Identifier of the alert.' })
  id!: string;

  @Field(() => ID, { nullable: true, description: 'The account. Null if it concerns all accounts.' })
  accountId!: string | null;

  @Field(() => AlertKindEnum, { description: 'What it is about.' })
  kind!: AlertKind;

  @Field(() => String, { description: 'What was found when it opened, in a sentence.' })
  summary!: string;

  @Field(() => JsonObject, {
    description: 'The facts when it opened, such as `webhookId`. Amounts are in units of `currency`.',
  })
  detail!: AlertDetail;

  @Field(() => DateTime, { description: 'When it opened.' })
  openedAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When its cause had ended. Null while it is open.' })
  resolvedAt!: Date | null;
}

@ObjectType('AlertRule', {
  description: 'When a kind of alert opens, and who gets mails about it.',
  simpleResolvers: true,
})
class AlertRuleType implements ShownRule {
  @Field(() => AlertKindEnum, { description: 'The kind of alert.' })
  kind!: AlertKind;

  @Field(() => String, { description: 'When an alert opens, in a sentence.' })
  description!: string;

  @Field(() => Boolean, { description: 'Whether such alerts open.' })
  isEnabled!: boolean;

  @Field(() => Float, { nullable: true, description: 'The threshold. Null for a kind that has none.' })
  threshold!: number | null;

  @Field(() => ThresholdUnitEnum, { nullable: true, description: 'What the threshold counts.' })
  thresholdUnit!: Threshold['unit'] | null;

  @Field(() => Float, { nullable: true, description: 'The threshold if you set none.' })
  defaultThreshold!: number | null;

  @Field(() => Boolean, {
    description:
      'False if the gateway lacks what the kind needs: sign-ins from new countries need COUNTRY_DATABASE or COUNTRY_HEADER.',
  })
  isAvailable!: boolean;

  @Field(() => [String], {
    nullable: true,
    description:
      'Email addresses of the people who get mails. Empty: nobody. Null: the owners and administrators, or all operators.',
  })
  mailTo!: readonly string[] | null;
}

@InputType({ description: 'Which alerts to list.' })
class AlertFilter {
  @InputField(() => AlertStateEnum, { nullable: true, description: 'State. Default: both.' })
  state?: AlertState | null;

  @InputField(() => AlertKindEnum, { nullable: true, description: 'Kind. Default: all.' })
  kind?: AlertKind | null;

  @InputField(() => ID, {
    nullable: true,
    description: 'The account. Default: your own. For operators: the alerts that concern all accounts.',
  })
  accountId?: string | null;
}

@InputType({ description: 'A change of a rule. An absent field stays as it is, null sets the default.' })
class AlertRuleInput {
  @InputField(() => AlertKindEnum, { description: 'The kind of alert.' })
  kind!: AlertKind;

  @InputField(() => Boolean, { nullable: true, description: 'Whether such alerts open.' })
  isEnabled?: boolean | null;

  @InputField(() => Float, { nullable: true, description: 'The threshold, in its unit.' })
  threshold?: number | null;

  @InputField(() => [String], {
    nullable: true,
    description: `Email addresses of people of the account, at most ${ALERT_MAILS_MAX}. Empty: nobody gets mails.`,
  })
  mailTo?: readonly string[] | null;

  @InputField(() => ID, {
    nullable: true,
    description: 'The account. Default: your own. For operators: the rules that concern all accounts.',
  })
  accountId?: string | null;
}

const AlertConnection = connectionOf('Alert', () => AlertType);

/** Alerts and their rules (R480). */
@Resolver(() => AlertType)
export class AlertResolver {
  @Query(() => AlertConnection, { nullable: true, description: 'Alerts, newest first.' })
  async alerts(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('filter', () => AlertFilter, { nullable: true, description: 'Which ones. Default: all.' })
    filter?: AlertFilter | null,
  ) {
    return connection(await run(operations.alerts.slice, { ...slice, ...given(filter) }));
  }

  @Query(() => [AlertRuleType], {
    nullable: true,
    description: 'The rules of alerts: one for each kind that the account, or the operators, can have.',
  })
  alertRules(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, {
      nullable: true,
      description: 'The account. Default: your own. For operators: the rules that concern all accounts.',
    })
    accountId?: string | null,
  ): Promise<readonly ShownRule[]> {
    return run(operations.alerts.rules, { accountId });
  }

  @Mutation(() => AlertRuleType, {
    description:
      'Changes when a kind of alert opens, and who gets mails. For owners, administrators and operators.',
    errors: ['not_found'],
  })
  setAlertRule(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => AlertRuleInput, { description: 'The change.' }) input: AlertRuleInput,
  ): Promise<ShownRule> {
    return run(operations.alerts.setRule, { ...input, isEnabled: input.isEnabled ?? undefined });
  }

  @FieldResolver(() => AlertStateEnum, { description: 'Whether its cause lasts.' })
  state(@Root() alert: Alert): AlertState {
    return stateOf(alert);
  }
}
