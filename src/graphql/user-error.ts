import { Int, ObjectType } from 'type-graphql';
import type { ErrorCode } from '../domain/errors.ts';
import { ErrorCodeEnum } from './enums.ts';
import { Field } from './typed.ts';

@ObjectType('UserError', {
  description: 'Why one item of a list was left as it is; the others are done.',
  simpleResolvers: true,
})
export class UserErrorType {
  @Field(() => Int, { description: 'Place of the item in its list, from 0.' })
  index!: number;

  @Field(() => String, { description: 'Path of the item from the argument, such as `keyIds.2`.' })
  path!: string;

  @Field(() => ErrorCodeEnum, { description: 'What went wrong.' })
  code!: ErrorCode;

  @Field(() => String, { description: 'What went wrong, in words.' })
  message!: string;
}
