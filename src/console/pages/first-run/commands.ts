import type { CreateApiKeyInput, RegisterWebhookInput, SendSmsInput } from './first-run.generated.ts';

/** Stands in the commands for the password, which the page does not know. */
export const PASSWORD_PLACEHOLDER = 'YOUR_PASSWORD';

/** Quotes a text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Builds a curl command with one option on each line. */
const curl = (url: string, ...options: readonly string[]) => [`curl -s ${url}`, ...options].join(' \\\n  ');
const jsonOptions = (body: unknown) => [
  "-H 'Content-Type: application/json'",
  `-d ${quoted(JSON.stringify(body))}`,
];
/** The option that sends the API key. If the key is unknown, it refers to the shell variable KEY. */
const keyOption = (key: string) =>
  key === '' ? '-H "X-Api-Key: $KEY"' : `-H ${quoted(`X-Api-Key: ${key}`)}`;

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

/** The command that registers a webhook. */
export function webhookCommand(origin: string, key: string, input: RegisterWebhookInput): string {
  return curl(webhooksAt(origin), keyOption(key), ...jsonOptions(input));
}

/** The command that sends an SMS. */
export function smsCommand(origin: string, key: string, input: SendSmsInput): string {
  return curl(`${origin}/api/v1/developers/sms`, keyOption(key), ...jsonOptions(input));
}

/** The command that sends a test event to a webhook. */
export function testEventCommand(origin: string, key: string, webhookId: string): string {
  return curl(`${webhooksAt(origin)}/${webhookId}/test`, '-X POST', keyOption(key));
}

/** The command that lists the deliveries of a webhook. */
export function deliveriesCommand(origin: string, key: string, webhookId: string): string {
  return curl(`${webhooksAt(origin)}/${webhookId}/deliveries`, keyOption(key));
}
