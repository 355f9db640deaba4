import { Ctx, ID, InputType, ObjectType, Resolver } from 'type-graphql';
import type { SignedIn } from '../domain/accounts/sessions.ts';
import type { AccountRole } from '../domain/caller.ts';
import type { RoleMapping, RoleRule } from '../domain/ports/single-sign-on.ts';
import { type GraphqlContext, sessionOf } from './context.ts';
import { RoleEnum } from './enums.ts';
import { enter, SessionType } from './member.graphql.ts';
import { DateTime } from './scalars.ts';
import { Arg, Field, InputField, Mutation, Query } from './typed.ts';

@ObjectType('SignInOffer', {
  description: 'An identity provider that a sign-in page can name.',
  simpleResolvers: true,
})
class SignInOfferType {
  @Field(() => Boolean, { description: 'True for the provider of the operators.' })
  isForOperators!: boolean;

  @Field(() => String, { description: 'Host name of the provider.' })
  host!: string;
}

@ObjectType({ description: 'A sign-in that was begun at an identity provider.', simpleResolvers: true })
class StartedSingleSignOn {
  @Field(() => String, { description: "The provider's sign-in page. Open it in this browser." })
  url!: string;
}

@ObjectType({ description: 'A sign-in or confirmation by an identity provider.', simpleResolvers: true })
class FinishedSingleSignOn {
  @Field(() => SessionType, {
    nullable: true,
    description: 'The new session. Null after a confirmation, which keeps the session.',
  })
  session!: SignedIn | null;

  @Field(() => String, { description: 'The path of the console that was given as `next`.' })
  next!: string;
}

@ObjectType('DnsRecord', { description: 'A TXT record.', simpleResolvers: true })
class DnsRecordType {
  @Field(() => String, { description: 'Name of the record.' })
  name!: string;

  @Field(() => String, { description: 'Its text.' })
  value!: string;
}

@ObjectType('RoleRule', { description: 'Gives a role to people with a value.', simpleResolvers: true })
class RoleRuleType implements RoleRule {
  @Field(() => String, { description: 'A value of the claim, such as a group.' })
  value!: string;

  @Field(() => RoleEnum, { description: 'The role.' })
  role!: AccountRole;
}

@ObjectType('RoleMapping', {
  description: "How a provider's claim becomes a role. The first rule that applies decides.",
  simpleResolvers: true,
})
class RoleMappingType implements RoleMapping {
  @Field(() => String, { description: 'Name of the claim, such as `groups`.' })
  claim!: string;

  @Field(() => [RoleRuleType], { description: 'The rules.' })
  rules!: readonly RoleRule[];

  @Field(() => RoleEnum, {
    nullable: true,
    description: 'Role of people to whom no rule applies. Null: they cannot sign in.',
  })
  defaultRole!: AccountRole | null;
}

@ObjectType('SingleSignOn', {
  description: "The account's identity provider. It signs nobody in until the domain is proved.",
  simpleResolvers: true,
})
class SingleSignOnType {
  @Field(() => String, { description: 'Issuer of the provider.' })
  issuer!: string;

  @Field(() => String, { description: 'Client id of this gateway at the provider.' })
  clientId!: string;

  @Field(() => String, { description: 'Domain of the email addresses of those who sign in by it.' })
  domain!: string;

  @Field(() => DnsRecordType, { description: 'The record that proves the domain.' })
  dnsRecord!: { readonly name: string; readonly value: string };

  @Field(() => DateTime, { nullable: true, description: 'When the domain was proved.' })
  domainProvedAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'When the record was found to be gone. Nobody new signs in until it is back. Null while it is there.',
  })
  domainLostAt!: Date | null;

  @Field(() => RoleMappingType, { description: 'How people get their roles.' })
  roleMapping!: RoleMapping;

  @Field(() => Boolean, { description: 'Whether members must sign in by it.' })
  required!: boolean;

  @Field(() => ID, { description: 'The owner whose password still signs in when it is required.' })
  breakGlassUserId!: string;
}

@InputType({ description: 'Gives a role to people with a value.' })
class RoleRuleInput {
  @InputField(() => String, { description: 'A value of the claim, such as a group.' })
  value!: string;

  @InputField(() => RoleEnum, { description: 'The role. OPERATOR is refused.' })
  role!: string;
}

@InputType({ description: "How a provider's claim becomes a role. The first rule that applies decides." })
class RoleMappingInput {
  @InputField(() => String, { description: 'Name of the claim, such as `groups`.' })
  claim!: string;

  @InputField(() => [RoleRuleInput], { description: 'The rules, at most 50.' })
  rules!: readonly RoleRuleInput[];

  @InputField(() => RoleEnum, {
    nullable: true,
    description: 'Role of people to whom no rule applies. Default: they cannot sign in.',
  })
  defaultRole?: string | null;
}

/** Fields for signing in at an identity provider, and for the settings of single sign-on. */
@Resolver()
export class SingleSignOnResolver {
  @Query(() => [SignInOfferType], {
    nullable: true,
    description:
      'Identity providers for a sign-in page, without a session. They depend on the domain of the email only, and do not say who has an account.',
  })
  signInOffers(
    @Ctx() { singleSignOn }: GraphqlContext,
    @Arg('email', () => String, { nullable: true, description: 'What the person typed.' })
    email?: string | null,
  ) {
    return singleSignOn.offers(email ?? undefined);
  }

  @Mutation(() => StartedSingleSignOn, {
    description:
      'Begins to sign in at the provider for the domain of the email; without an email, at that of the operators. The answer sets a cookie, and only this browser can finish it, within 10 minutes.',
    errors: ['provider_error', 'rate_limit_exceeded'],
  })
  async startSingleSignOn(
    @Ctx() context: GraphqlContext,
    @Arg('email', () => String, { nullable: true, description: 'Email address.' }) email?: string | null,
    @Arg('next', () => String, {
      nullable: true,
      description: 'Path of the console to open afterwards. Default: `/`.',
    })
    next?: string | null,
    @Arg('confirm', () => Boolean, {
      nullable: true,
      description: 'Confirms the person who is signed in by single sign-on, as `stepUp` does.',
    })
    confirm?: boolean | null,
  ) {
    const session = confirm ? sessionOf(context) : undefined;
    const request = { email: email ?? undefined, next: next ?? '/', session };
    const { url, browserToken } = await context.singleSignOn.begin(request, context.client);
    context.singleSignOnCookie.set(browserToken);
    return { url };
  }

  @Mutation(() => FinishedSingleSignOn, {
    description: 'Finishes a sign-in with what the provider added to the URL of the console.',
    errors: ['provider_error'],
  })
  async finishSingleSignOn(
    @Ctx() context: GraphqlContext,
    @Arg('provider', () => String, { description: 'The end of the path of that URL, such as `operators`.' })
    provider: string,
    @Arg('query', () => String, { description: 'The query of that URL, such as `code=…&state=…`.' })
    query: string,
  ) {
    const { singleSignOn, singleSignOnCookie, auth, client } = context;
    const browserToken = singleSignOnCookie.value;
    const { signedIn, next } = await singleSignOn.finish(provider, query, browserToken, auth.session, client);
    singleSignOnCookie.set(undefined);
    return { session: signedIn === undefined ? null : enter(context, signedIn), next };
  }

  @Query(() => SingleSignOnType, {
    nullable: true,
    description: "The account's single sign-on. For owners. Null if there is none.",
  })
  async singleSignOn(@Ctx() { run, operations }: GraphqlContext) {
    return (await run(operations.singleSignOn.get, {})) ?? null;
  }

  @Mutation(() => SingleSignOnType, {
    description:
      "Sets the account's identity provider. Prove the domain by its DNS record then, with `checkSingleSignOnDomain`. `required` ends the sessions that came by passwords; only the owner who set it first can still use one.",
    canDryRun: true,
    errors: ['step_up_required'],
  })
  setSingleSignOn(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('issuer', () => String, { description: 'Issuer, as the provider names it.' }) issuer: string,
    @Arg('clientId', () => String, { description: 'Client id of this gateway at the provider.' })
    clientId: string,
    @Arg('domain', () => String, { description: 'Domain of the email addresses, such as `example.com`.' })
    domain: string,
    @Arg('roleMapping', () => RoleMappingInput, { description: 'How people get their roles.' })
    roleMapping: RoleMappingInput,
    @Arg('required', () => Boolean, { description: 'Whether members must sign in by it.' })
    required: boolean,
    @Arg('clientSecret', () => String, {
      nullable: true,
      description: 'Client secret; stored sealed, never shown. Default: the stored one stays.',
    })
    clientSecret?: string | null,
  ) {
    const input = { issuer, clientId, clientSecret, domain, roleMapping, required };
    return run(operations.singleSignOn.set, input);
  }

  @Mutation(() => SingleSignOnType, {
    description: 'Looks for the DNS record that proves the domain, now.',
    errors: ['not_found', 'provider_error', 'step_up_required'],
  })
  checkSingleSignOnDomain(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.singleSignOn.checkDomain, {});
  }

  @Mutation(() => Boolean, {
    description: "Removes the account's identity provider. Sessions by it end.",
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  async removeSingleSignOn(@Ctx() { run, operations }: GraphqlContext) {
    await run(operations.singleSignOn.remove, {});
    return true;
  }
}
