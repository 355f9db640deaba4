import { type ApiRequest, curl, jsonOptions } from '../../lib/samples.ts';
import type { CreateApiKeyInput, RegisterWebhookInput, SendSmsInput } from './first-run.generated.ts';

/** Stands in the commands for the password, which the page does not know. */
export const PASSWORD_PLACEHOLDER = 'YOUR_PASSWORD';

/** The commands that sign in and create an API key. They use GraphQL, because the REST API needs an API key. */
export function keyCommand(origin: string, email: string, input: CreateApiKeyInput): string {
  const signIn = {
    query:
      'mutation ($email: String!, $password: String!) { signIn(email: $email, password: $password) { token } }',
    variables: { email, password: PASSWORD_PLACEHOLDER },
  };
  const create = {
    query: 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }',
    variables: { input },
  };
  const url = `${origin}/graphql`;
  const token = `${curl(url, ...jsonOptions(signIn))} |\n  sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p'`;
  return `TOKEN=$(${token})\n${curl(url, '-H "Authorization: Bearer $TOKEN"', ...jsonOptions(create))}`;
}

const webhooksAt = (origin: string) => `${origin}/api/v1/developers/webhooks`;

/** The request that registers a webhook. */
export function webhookRequest(origin: string, key: string, input: RegisterWebhookInput): ApiRequest {
  return { method: 'POST', url: webhooksAt(origin), key, body: input };
}

/** The request that sends an SMS. */
export function smsRequest(origin: string, key: string, input: SendSmsInput): ApiRequest {
  return { method: 'POST', url: `${origin}/api/v1/developers/sms`, key, body: input };
}

/** The request that sends a test event to a webhook. */
export function testEventRequest(origin: string, key: string, webhookId: string): ApiRequest {
  return { method: 'POST', url: `${webhooksAt(origin)}/${webhookId}/test`, key };
}

/** The request that lists the deliveries of a webhook. */
export function deliveriesRequest(origin: string, key: string, webhookId: string): ApiRequest {
  return { method: 'GET', url: `${webhooksAt(origin)}/${webhookId}/deliveries`, key };
}
