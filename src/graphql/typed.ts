/**
 * type-graphql's decorators with an additional check: the TypeScript type of a property, method or argument must be the
 * type that the schema shows. For example, a field does not compile if the schema says non-null and its value may be
 * null.
 */
import type { GraphQLScalarType } from 'graphql';
import {
  type ClassType,
  createUnionType,
  Arg as DeclareArg,
  Field as DeclareField,
  FieldResolver as DeclareFieldResolver,
  Mutation as DeclareMutation,
  Query as DeclareQuery,
  Extensions,
} from 'type-graphql';
import type { FieldCost } from './cost.ts';
import type { DryRunKind } from './dry-run.ts';
import type { MutationExtensions } from './mutation-errors.ts';

/** A GraphQL union, to be passed to a decorator as the type of a field. `Value` is what the resolver returns. */
interface UnionOf<Value> {
  readonly shows: Value;
}
/** A value of an interface or a union. `__typename` names its GraphQL type. */
export type Tagged<Value, Name extends string> = Value & { readonly __typename: Name };

interface Options {
  readonly description: string;
  readonly nullable?: boolean | 'itemsAndList';
}
/** Options of a field that has a resolver. */
interface ResolverOptions extends Options {
  readonly cost?: FieldCost;
}
type TypeThunk<Type> = () => Type;

/** Maps a GraphQL type to the TypeScript type of its values. */
type ValueOf<Type> = Type extends StringConstructor
  ? string
  : Type extends BooleanConstructor
    ? boolean
    : Type extends GraphQLScalarType<infer Value, unknown>
      ? Value
      : Type extends readonly (infer Item)[]
        ? readonly ValueOf<Item>[]
        : Type extends UnionOf<infer Value>
          ? Value
          : Type extends abstract new (
                ...given: never
              ) => infer Instance
            ? Instance
            : Type extends Readonly<Record<string, infer Word>>
              ? Word
              : never;
type Absent<Given extends Options> = IsNullable<Given> extends true ? null | undefined : never;
type Shown<Type, Given extends Options> =
  | (Given extends { readonly nullable: 'itemsAndList' } ? WithNullItems<ValueOf<Type>> : ValueOf<Type>)
  | Absent<Given>;
type WithNullItems<List> = List extends readonly (infer Item)[] ? readonly (Item | null)[] : never;
type MayBeAbsent<Value> = null extends Value ? true : undefined extends Value ? true : false;
type IsNullable<Given extends Options> = Given extends { readonly nullable: true | 'itemsAndList' }
  ? true
  : false;

/**
 * Compiles only if the property of an output type has the field's type. It must be nullable if and only if the field is
 * nullable.
 */
type OutputKey<Prop, Type, Given extends Options, Key> = [Prop] extends [Shown<Type, Given>]
  ? MayBeAbsent<Prop> extends IsNullable<Given>
    ? Key
    : 'The field is nullable and its property is not.'
  : 'The property has values that the field cannot show.';
/** Compiles only if a property or parameter accepts every value that the field or argument allows. */
type InputKey<Prop, Type, Given extends Options, Key> = [Shown<Type, Given>] extends [Prop]
  ? Key
  : 'The field lets in values that the property does not take.';
type Resolver<Value> = (...given: never[]) => Value | Promise<Value>;
type ResolverDecorator<Type, Given extends Options> = <Method extends Resolver<Shown<Type, Given>>>(
  target: object,
  key: string,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/** Declares a field of an output type. Its value is read from the property. */
export function Field<const Type, const Given extends Options>(type: TypeThunk<Type>, given: Given) {
  return DeclareField(type as () => object, given) as <Target extends object, Key extends keyof Target>(
    target: Target,
    key: OutputKey<Target[Key], Type, Given, Key>,
  ) => void;
}

/** Declares a field of an input type. */
export function InputField<const Type, const Given extends Options>(type: TypeThunk<Type>, given: Given) {
  return DeclareField(type as () => object, given) as <Target extends object, Key extends keyof Target>(
    target: Target,
    key: InputKey<Target[Key], Type, Given, Key>,
  ) => void;
}

/** Declares an argument. */
export function Arg<const Type, const Given extends Options>(
  name: string,
  type: TypeThunk<Type>,
  given: Given,
) {
  return DeclareArg(name, type as () => object, given) as <
    Target extends object,
    Key extends keyof Target,
    Index extends number,
  >(
    target: Target,
    key: Key,
    index: Target[Key] extends (...parameters: infer Parameters) => unknown
      ? InputKey<Parameters[Index], Type, Given, Index>
      : never,
  ) => void;
}

/** Declares a field of an output type whose value the method returns. */
export function FieldResolver<const Type, const Given extends ResolverOptions>(
  type: TypeThunk<Type>,
  { cost, ...given }: Given,
) {
  return withCost(DeclareFieldResolver(type as () => object, given), cost) as ResolverDecorator<Type, Given>;
}

/** Declares a field of `Query`. */
export function Query<const Type, const Given extends ResolverOptions>(
  type: TypeThunk<Type>,
  { cost, ...given }: Given,
) {
  return withCost(DeclareQuery(type as () => object, given), cost) as ResolverDecorator<Type, Given>;
}

/** Returns a decorator that also stores in the schema what the field costs. */
function withCost(declare: MethodDecorator, cost: FieldCost | undefined): MethodDecorator {
  if (!cost) return declare;
  const tell = Extensions({ cost });
  return (target, key, descriptor) => {
    tell(target, key as string, descriptor);
    return declare(target, key, descriptor);
  };
}

/**
 * The index of the argument `dryRun` is the method's `length` plus this number. The index must be greater than the
 * index of every parameter, and `length` does not count parameters with a default value.
 */
const DRY_RUN_PLACE = 20;
const DRY_RUN =
  'Whether to only answer what it would do: everything is checked and done, then undone. Ids and secrets in the answer never exist. Default: false.';

/**
 * Declares a field of `Mutation`. `errors` are its own error codes, in addition to the codes that every mutation has.
 * The schema's `@errors` shows all of them. With `canDryRun` the field has the argument `dryRun` (dry-run.ts), which is
 * not passed to the method.
 */
export function Mutation<
  const Type,
  const Given extends ResolverOptions & Required<MutationExtensions> & { readonly canDryRun?: DryRunKind },
>(type: TypeThunk<Type>, { errors, canDryRun, cost, ...given }: Given) {
  const declare = withCost(DeclareMutation(type as () => object, given), cost);
  const extend = Extensions({ errors, dryRun: canDryRun });
  const decorate: MethodDecorator = (target, key, descriptor) => {
    declare(target, key, descriptor);
    extend(target, key, descriptor);
    if (!canDryRun || typeof key !== 'string') return;
    const { length } = descriptor.value as unknown as (...given: unknown[]) => unknown;
    DeclareArg('dryRun', () => Boolean, { nullable: true, description: DRY_RUN })(
      target,
      key,
      length + DRY_RUN_PLACE,
    );
  };
  return decorate as ResolverDecorator<Type, Given>;
}

/** Makes a union of object types. Resolvers return values with their `__typename`. */
export function unionOf<Value extends { readonly __typename: string }>(
  name: string,
  description: string,
  types: () => readonly ClassType<object>[],
): UnionOf<Value> {
  const resolveType = (value: object) => (value as Value).__typename;
  return createUnionType({ name, description, types, resolveType }) as unknown as UnionOf<Value>;
}
