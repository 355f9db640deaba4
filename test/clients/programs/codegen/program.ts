/** Sends with types that graphql-codegen made: variables, answer, and the error codes of this mutation. */
import { readFileSync } from 'node:fs';
import type { SendSmsErrorCode, SendSmsMutation, SendSmsMutationVariables } from '../types.ts';

interface Answer {
  readonly data?: SendSmsMutation | null;
  readonly errors?: readonly { readonly extensions: { readonly code: SendSmsErrorCode } }[];
}
const { API = '', TOKEN = '' } = process.env;
const query = readFileSync('src/send.graphql', 'utf8');

async function send(variables: SendSmsMutationVariables): Promise<string> {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ query, variables });
  const { data, errors } = (await (await fetch(API, { method: 'POST', headers, body })).json()) as Answer;
  const code = errors?.[0]?.extensions.code;
  switch (code) {
    case undefined:
      return data?.sendSms.costMoney.currency ?? 'nothing';
    case 'INVALID_PHONE_NUMBER':
      return 'a wrong number';
    // @ts-expect-error No send answers this code.
    case 'KEY_ENDED':
      return 'impossible';
    default:
      return code;
  }
}
const sent = await send({ input: { to: '+256700001000', message: 'Hello' } });
const refused = await send({ input: { to: 'nobody', message: 'Hello' } });
console.log(JSON.stringify({ sent, refused }));
