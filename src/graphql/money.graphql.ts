import { ObjectType } from 'type-graphql';
import { decimalOf } from '../domain/money/money.ts';
import { BigIntText, Currency, Decimal } from './scalars.ts';
import { Field } from './typed.ts';

@ObjectType({
  description: 'An exact amount. The Float beside it is the same amount as a JSON number.',
  simpleResolvers: true,
})
export class Money {
  @Field(() => Decimal, { description: 'The amount in the currency.' })
  amount!: string;

  @Field(() => Currency, { description: 'The currency.' })
  currency!: string;

  @Field(() => BigIntText, { description: 'The amount in minor units of the currency, such as cents.' })
  minor!: string;
}

/** Converts minor units of a currency into the form that GraphQL shows. */
export function moneyOf(minor: number, currency: string): Money {
  return { amount: decimalOf(minor, currency), currency, minor: String(minor) };
}
