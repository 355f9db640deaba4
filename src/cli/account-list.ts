import type { Command } from 'commander';
import type { Account } from '../domain/accounts/account.ts';
import { decimalOf, fromMinor } from '../domain/money/money.ts';
import { SLICE_DEFAULT, SLICE_MAX } from '../domain/paging.ts';
import { CLI, type CliRunner, examples, leaf, whole } from './command.ts';
import { asTable } from './output.ts';

const COLUMNS = ['id', 'name', 'email', 'currency', 'balance', 'status', 'plan'] as const;

/** The command that lists accounts. */
export function addAccountList(account: Command, runner: Pick<CliRunner, 'run'>): void {
  leaf(account, 'list', 'list accounts, the newest first')
    .option('--search <text>', 'only accounts whose name or email has this text in it')
    .option('--first <number>', `how many, at most ${SLICE_MAX}`, rows, SLICE_DEFAULT)
    .option('--after <cursor>', 'go on after the accounts of the last call, which printed the cursor')
    .addHelpText('after', examples('account list', 'account list --search shop --first 100'))
    .action(({ json, search, first, after }) =>
      runner.run(json, async ({ operations }) => {
        const slice = await operations.accounts.list.run(CLI, { search, first, after });
        const found = slice.edges.map(({ node }) => node);
        const next = slice.hasNextPage ? (slice.edges.at(-1)?.cursor ?? null) : null;
        const table = asTable(COLUMNS, found.map(shown));
        const more = next === null ? '' : `\nmore: add --after ${next}`;
        return {
          json: { accounts: found.map(listed), next },
          text: found.length === 0 ? 'no accounts' : `${table}${more}`,
        };
      }),
    );
}

function listed({ id, name, email, currency, balanceMinor, status, plan }: Account) {
  return {
    id,
    name,
    email,
    currency,
    balance: fromMinor(balanceMinor, currency),
    status,
    plan: plan?.name ?? null,
  };
}

function shown(account: Account): Record<(typeof COLUMNS)[number], string> {
  const { balanceMinor, currency, plan } = account;
  return { ...account, balance: decimalOf(balanceMinor, currency), plan: plan?.name ?? '-' };
}

function rows(text: string): number {
  return whole(text, SLICE_MAX);
}
