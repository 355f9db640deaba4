import { Command, InvalidArgumentError, Option } from 'commander';
import { accountResource } from '../domain/accounts/account.ts';
import { RETENTION_MAX_DAYS } from '../domain/accounts/account-operations.ts';
import { apiKeyResource } from '../domain/api-keys/api-key.ts';
import { RATE_LIMIT_MAX } from '../domain/api-keys/api-key-rules.ts';
import { isKeyId, parseKey } from '../domain/api-keys/key-format.ts';
import { ENVIRONMENTS, SCOPES } from '../domain/caller.ts';
import { addAccountList } from './account-list.ts';
import { addAudit } from './audit.ts';
import { addBackup } from './backup.ts';
import { addAccountMove, addCells } from './cells.ts';
import { CLI, type CliGateway, type CliRunner, examples, group, leaf, whole } from './command.ts';
import { asText } from './output.ts';
import { addRelease } from './release.ts';

const ACCOUNT_OF_PERSON = 'account, if the email has several';

/** Commands that the SDK runs. The SDK parses their options and prints their help. */
const CLIENT_COMMANDS = [
  ['listen', "follow an account's events and forward each to an address of this machine"],
  ['trigger', 'make a sample of an event and forward it; nothing is sent or charged'],
  ['secret', 'show the secret that listen and trigger sign with'],
] as const;

/**
 * Defines the commands of docs/operations/command-line.md. Help and usage errors need no database, because only the
 * action of a command opens the gateway. Writes help to `stdout`.
 */
export function createProgram(runner: CliRunner, stdout: NodeJS.WritableStream): Command {
  const writeOut = (text: string) => stdout.write(text);
  const program = new Command('npm run cli --')
    .description('Administration of the messaging gateway from a shell.')
    .exitOverride()
    // Print no errors here: the caller prints them as one line. If no command is given, commander writes the help to
    // stderr. Write it to stdout instead.
    .configureOutput({ outputError: () => undefined, writeErr: writeOut, writeOut })
    .addHelpText(
      'after',
      `${examples('account create --email you@example.com --currency UGX', 'doctor')}
With --json a command prints one JSON document and nothing else:
  $ npm run --silent cli -- doctor --json`,
    );

  const account = group(
    program,
    'account',
    'accounts and their balances',
    'create --email you@example.com --currency UGX',
  );
  leaf(account, 'create', 'create an account with its owner, who signs in with the password shown once')
    .requiredOption('--email <email>', "the owner's email for signing in")
    .requiredOption('--currency <code>', 'ISO 4217 code, such as UGX')
    .option('--name <name>', 'name of the account (default: the email)')
    .option('--balance <amount>', 'opening balance, in units of the currency', amount)
    .addHelpText(
      'after',
      examples('account create --email you@example.com --currency UGX --name "Your shop" --balance 100000'),
    )
    .action(({ json, ...input }) =>
      runner.run(
        json,
        async ({ operations }) => {
          const created = await operations.accounts.create.run(CLI, input);
          const { user, password } = created.owner;
          return {
            json: { account: accountResource(created.account), user: { email: user.email, password } },
          };
        },
        { mayMakeDatabase: true },
      ),
    );
  leaf(account, 'topup', 'add to the balance of an account')
    .requiredOption('--account <id>', 'id of the account')
    .requiredOption('--amount <amount>', 'amount to add, in units of the currency', amount)
    .addHelpText(
      'after',
      examples('account topup --account 0190c3e2-5b1f-7c44-9d0e-6c1b6a5f2e11 --amount 50000'),
    )
    .action(({ json, account: accountId, amount }) =>
      runner.run(json, async ({ operations }) => {
        const topped = await operations.accounts.topUp.run(CLI, { accountId, amount });
        return { json: { account: accountResource(topped) } };
      }),
    );

  leaf(account, 'retention', 'set how long an account keeps its messages; deleted ones cannot be restored')
    .requiredOption('--account <id>', 'id of the account')
    .requiredOption('--content-days <number>', 'days until the text of a message is erased, or keep', days)
    .requiredOption('--message-days <number>', 'days until a message is deleted, or keep', days)
    .addHelpText(
      'after',
      examples(
        'account retention --account 0190c3e2-5b1f-7c44-9d0e-6c1b6a5f2e11 --content-days 30 --message-days keep',
      ),
    )
    .action(({ json, account: accountId, contentDays, messageDays }) =>
      runner.run(json, async ({ operations }) => ({
        json: {
          retention: await operations.accounts.setRetention.run(CLI, {
            accountId,
            contentDays: contentDays === 'keep' ? null : contentDays,
            messageDays: messageDays === 'keep' ? null : messageDays,
          }),
        },
      })),
    );

  addAccountList(account, runner);
  addAccountMove(account, runner);

  const key = group(program, 'key', 'API keys', 'revoke --key f4f3d11fe74a826e');
  leaf(key, 'create', 'create an API key, which is shown once')
    .requiredOption('--account <id>', 'id of the account')
    .requiredOption('--scopes <scopes>', `comma list of ${SCOPES.join(', ')}`, list)
    .option('--environment <environment>', ENVIRONMENTS.join(' or '), 'production')
    .option('--name <name>', 'a name for the key', 'Created on the command line')
    .option('--hmac', 'requests must be signed; the signing secret is shown once')
    .option('--allow-ip <cidrs>', 'comma list of addresses or CIDRs that may use the key', list)
    .option('--expires <time>', 'expiry time, ISO 8601 with Z or an offset')
    .option('--rate-limit <number>', "requests a minute, instead of the account's plan", perMinute)
    .addHelpText(
      'after',
      examples(
        'key create --account 0190c3e2-5b1f-7c44-9d0e-6c1b6a5f2e11 --scopes SEND_SMS,READ_MESSAGES --name shop',
        'key create --account 0190c3e2-5b1f-7c44-9d0e-6c1b6a5f2e11 --scopes FULL_ACCESS --environment sandbox ' +
          '--hmac --allow-ip 203.0.113.0/24 --expires 2027-01-01T00:00:00Z --rate-limit 600',
      ),
    )
    .action(({ json, account: accountId, scopes, environment, name, hmac, allowIp, expires, rateLimit }) =>
      runner.run(json, async ({ operations }) => {
        const created = await operations.apiKeys.create.run(CLI, {
          accountId,
          name,
          scopes,
          environment,
          enableHmac: hmac,
          ipAllowlist: allowIp,
          expiresAt: expires,
          ...(rateLimit === undefined ? {} : { rateLimit: { perMinute: rateLimit, perSecond: null } }),
        });
        return { json: { ...created, apiKey: apiKeyResource(created.apiKey) } };
      }),
    );
  leaf(key, 'revoke', 'revoke an API key, at once and for good')
    .requiredOption(
      '--key <key id>',
      'the key id, which is the part between the two underscores, or the whole key',
      keyId,
    )
    .option('--descendants', 'also revoke the keys that it created or rotated, and their descendants')
    .addHelpText(
      'after',
      examples('key revoke --key f4f3d11fe74a826e', 'key revoke --key f4f3d11fe74a826e --descendants'),
    )
    .action(({ json, key: keyId, descendants }) =>
      runner.run(json, async ({ operations }) => {
        if (!descendants) {
          const revoked = await operations.apiKeys.revoke.run(CLI, { keyId });
          return { json: { apiKey: apiKeyResource(revoked) } };
        }
        const tree = await operations.apiKeys.revokeWithDescendants.run(CLI, { keyId });
        const apiKey = apiKeyResource(tree.apiKey);
        const revokedKeys = tree.revokedKeys.map(apiKeyResource);
        const text = asText({ apiKey, revokedKeys: revokedKeys.map((one) => one.keyId) });
        return { json: { apiKey, revokedKeys }, text };
      }),
    );

  const operator = group(
    program,
    'operator',
    'platform operators, who manage all accounts',
    'create --email ops@example.com',
  );
  leaf(operator, 'create', 'create a platform operator, who signs in with the password shown once')
    .requiredOption('--email <email>', 'email for signing in')
    .option('--read-only', 'the operator only reads')
    .addHelpText(
      'after',
      examples(
        'operator create --email ops@example.com',
        'operator create --email audit@example.com --read-only',
      ),
    )
    .action(({ json, email, readOnly: isReadOnly }) =>
      runner.run(json, async ({ operations }) => {
        const { user, password } = await operations.accounts.createOperator.run(CLI, { email, isReadOnly });
        return { json: { user: { email: user.email, password } } };
      }),
    );

  const user = group(program, 'user', 'people who sign in', 'password --email you@example.com');
  leaf(user, 'password', "reset a person's password; the new one is shown once, and their sessions end")
    .requiredOption('--email <email>', 'email for signing in')
    .option('--account <id>', ACCOUNT_OF_PERSON)
    .addHelpText('after', examples('user password --email you@example.com'))
    .action(({ json, email, account: accountId }) =>
      runner.run(json, async ({ operations }) => {
        const { user, password } = await operations.members.resetPassword.run(CLI, { email, accountId });
        return { json: { user: { email: user.email, password } } };
      }),
    );

  leaf(
    user,
    'reset-factors',
    'remove the second factors of a person who has lost them; it ends their sessions',
  )
    .option('--email <email>', 'email for signing in')
    .option('--account <id>', ACCOUNT_OF_PERSON)
    .option('--user <id>', 'the person, by id instead')
    .addHelpText(
      'after',
      examples(
        'user reset-factors --email ops@example.com',
        'user reset-factors --user 0199e1c2-7d1a-7c3e-9b9f-1f2a3b4c5d6e',
      ),
    )
    .action(({ json, email, account: accountId, user: userId }) => {
      if ((email === undefined) === (userId === undefined))
        throw new InvalidArgumentError('Name the person by --email or by --user.');
      return runner.run(json, async ({ operations: { secondFactors } }) => {
        const person =
          email === undefined
            ? await secondFactors.reset.run(CLI, { userId })
            : await secondFactors.resetByEmail.run(CLI, { email, accountId });
        return { json: { user: { id: person.id, email: person.email } } };
      });
    });

  addAudit(program, runner);
  addBackup(program, runner);
  addCells(program, runner);
  addRelease(program, runner);
  leaf(program, 'migrate', 'migrate the database (the server also does so when it starts)')
    .addHelpText('after', examples('migrate'))
    .action(({ json }) =>
      runner.run(json, async ({ migration }) => ({ json: migration, text: describeMigration(migration) }), {
        mayMakeDatabase: true,
      }),
    );
  leaf(program, 'doctor', 'check database, replica, queue, ledgers, carriers, clock and master key')
    .addHelpText(
      'after',
      `${examples('doctor')}
It connects to SMSCs and mail servers, and asks each other provider whether it accepts the credentials. It sends nothing.
`,
    )
    .action(({ json }) => runner.doctor(json));
  for (const [name, description] of CLIENT_COMMANDS) {
    program
      .command(name)
      .description(description)
      .helpOption(false)
      .allowUnknownOption()
      .allowExcessArguments()
      .action((_options, { args }: Command) => runner.client([name, ...args]));
  }
  program
    .command('mcp')
    .description('serve a language model over standard input and output (Model Context Protocol)')
    .allowExcessArguments(false)
    .addOption(new Option('--api-key <key>', 'the key that tools act with').env('GATEWAY_API_KEY'))
    .addOption(
      new Option('--url <url>', 'a running gateway').env('GATEWAY_URL').default('http://127.0.0.1:3000'),
    )
    .addHelpText('after', '\nUse npm run --silent: npm itself must write nothing to the output.\n')
    .action(({ apiKey, url }: { apiKey?: string; url: string }) => {
      if (!apiKey) throw new InvalidArgumentError('Set GATEWAY_API_KEY, or pass --api-key.');
      if (!URL.canParse(url)) throw new InvalidArgumentError('--url looks like http://127.0.0.1:3000.');
      return runner.mcp(url, apiKey);
    });
  return program;
}

function describeMigration({ from, to, newerThan }: CliGateway['migration']): string {
  if (newerThan !== undefined)
    return `The database is at schema ${to}, newer than this release knows (${newerThan}): use the newer release`;
  return from === to ? `The schema is up to date: ${to}` : `Migrated from ${from} to ${to}`;
}

function amount(text: string): number {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be a number such as 1000.');
  return Number(text);
}

function perMinute(text: string): number {
  return whole(text, RATE_LIMIT_MAX);
}

function days(text: string): number | 'keep' {
  return text === 'keep' ? 'keep' : whole(text, RETENTION_MAX_DAYS, ', or keep');
}

/** Parses a list separated by commas. Refuses an empty list, because it would mean "no restriction". */
function list(text: string): string[] {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (items.length === 0) throw new InvalidArgumentError('Name at least one, separated by commas.');
  return items;
}

function keyId(text: string): string {
  const id = parseKey(text)?.keyId ?? text;
  // Do not throw InvalidArgumentError: it would print the text, which may be most of a secret.
  if (!isKeyId(id)) throw new Error('--key must be a key id such as f4f3d11fe74a826e, or a whole key.');
  return id;
}
