import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { webhookSignatureHeader } from '../../src/domain/webhooks/webhook-signature.ts';
import type { TestAccount } from '../support/gateway.ts';
import { guide, samplesOf } from '../support/guide.ts';
import type { ReceivedHook } from '../support/webhook-receiver.ts';
import { startWebhookBench } from '../support/webhooks.ts';

const PAGE = guide('webhooks');
const has = (program: string, argument = '--version') => spawnSync(program, [argument]).status === 0;

/** Returns the code block under the heading of a language. */
function snippet(language: string): string {
  const found = samplesOf(PAGE)
    .flat()
    .filter(({ subheading }) => subheading === language);
  if (found.length !== 1) throw new Error(`the page has ${found.length} blocks under ${language}`);
  return found[0]?.code ?? '';
}

interface Case {
  readonly what: string;
  readonly secret: string;
  readonly header: string;
  /** The raw body of the delivery in base64. */
  readonly body: string;
  readonly genuine: boolean;
}

interface Program {
  readonly extension: string;
  readonly code: () => string;
  readonly command: string;
  readonly arguments?: readonly string[];
  readonly isHere: boolean;
  /** Formats the cases for the program's stdin. Default: JSON. */
  readonly input?: (cases: readonly Case[]) => string;
}

/**
 * For each language, a program that reads cases from stdin. It prints a JSON array that says for each case whether the
 * signature is valid.
 */
const PROGRAMS: Readonly<Record<string, Program>> = {
  TypeScript: {
    extension: 'ts',
    code: () => `${snippet('TypeScript')}
import { readFileSync } from 'node:fs';
const cases = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(cases.map((one) => isGenuine(one.secret, one.header, Buffer.from(one.body, 'base64')))));`,
    command: process.execPath,
    isHere: true,
  },
  Python: {
    extension: 'py',
    code: () => `${snippet('Python')}
import base64, json, sys
print(json.dumps([is_genuine(c["secret"], c["header"], base64.b64decode(c["body"])) for c in json.load(sys.stdin)]))`,
    command: 'python3',
    isHere: has('python3'),
  },
  PHP: {
    extension: 'php',
    code: () => `${snippet('PHP')}
$cases = json_decode(file_get_contents('php://stdin'), true);
echo json_encode(array_map(fn($c) => is_genuine($c['secret'], $c['header'], base64_decode($c['body'])), $cases));`,
    command: 'php',
    isHere: has('php'),
  },
  Go: {
    extension: 'go',
    code: () => `${snippet('Go')
      .replace('package webhook', 'package main')
      .replace('import (', 'import (\n\t"encoding/base64"\n\t"encoding/json"\n\t"os"')}
func main() {
	var cases []struct{ Secret, Header, Body string }
	if json.NewDecoder(os.Stdin).Decode(&cases) != nil {
		os.Exit(1)
	}
	verdicts := []bool{}
	for _, c := range cases {
		body, _ := base64.StdEncoding.DecodeString(c.Body)
		verdicts = append(verdicts, IsGenuine(c.Secret, c.Header, body, 300*time.Second))
	}
	json.NewEncoder(os.Stdout).Encode(verdicts)
}`,
    command: 'go',
    arguments: ['run'],
    isHere: has('go', 'version'),
  },
  Java: {
    extension: 'java',
    // Java has no JSON parser of its own, so each case is a line with three fields.
    code: () =>
      `${snippet('Java').replace(
        'public final class Webhook {',
        `public final class Webhook {
  public static void main(String[] given) throws Exception {
    StringBuilder verdicts = new StringBuilder();
    for (String line : new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\\n")) {
      String[] part = line.split("\\t", -1);
      String header = new String(java.util.Base64.getDecoder().decode(part[1]), StandardCharsets.UTF_8);
      verdicts.append(verdicts.length() == 0 ? "[" : ",");
      verdicts.append(isGenuine(part[0], header, java.util.Base64.getDecoder().decode(part[2]), 300));
    }
    System.out.println(verdicts.append("]"));
  }
`,
      )}`,
    command: 'java',
    isHere: has('java'),
    input: (all: readonly Case[]) =>
      all
        .map(({ secret, header, body }) => `${secret}\t${Buffer.from(header).toString('base64')}\t${body}`)
        .join('\n'),
  },
};

describe('the verification code on the page for receivers (R155–R159)', () => {
  let bench: Awaited<ReturnType<typeof startWebhookBench>>;
  let directory: string;
  const cases: Case[] = [];
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'verification-'));
    bench = await startWebhookBench();
    const owner: TestAccount = await bench.gateway.createAccount();
    const receiver = await bench.receiving();
    const { secret } = await bench.register(owner, { url: receiver.url });
    await bench.gateway.call('POST', '/developers/sms', {
      key: owner.key,
      body: { to: '+256700123456', message: 'Olá 😀 "quoted"' },
    });
    const hook = await receiver.waitFor(() => true);
    cases.push(...casesOf(secret, hook));
  });
  afterAll(async () => {
    await bench?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  for (const [language, program] of Object.entries(PROGRAMS)) {
    // The test is skipped if the interpreter is not installed.
    (program.isHere ? it : it.skip)(`works in ${language} on real deliveries`, () => {
      // Go compiles all files of a folder into one program, so each program gets a folder of its own.
      mkdirSync(join(directory, language));
      const file = join(directory, language, `check.${program.extension}`);
      writeFileSync(file, program.code());
      const input = program.input?.(cases) ?? JSON.stringify(cases);
      const given = [...(program.arguments ?? []), file];
      const answer = execFileSync(program.command, given, { input }).toString();
      const verdicts: boolean[] = JSON.parse(answer);
      expect(cases.map(({ what }, index) => [what, verdicts[index]])).toEqual(
        cases.map(({ what, genuine }) => [what, genuine]),
      );
    });
  }

  it('says that the whole secret is the key, and names 300 seconds', () => {
    expect(PAGE).toContain('`whsec_` included');
    expect(PAGE).toContain('300 seconds');
  });
});

function casesOf(secret: string, hook: ReceivedHook): Case[] {
  const header = String(hook.headers['x-service-signature']);
  const body = hook.raw.toString('base64');
  const [, t = '', v1 = ''] = /^t=(\d+),v1=(.*)$/.exec(header) ?? [];
  const signedAt = (seconds: number) => webhookSignatureHeader(secret, Number(t) + seconds, hook.raw);
  const changed = Buffer.from(hook.raw);
  changed[0] = (changed[0] ?? 0) ^ 1;
  const bad = (what: string, part: Partial<Case>) => ({
    what,
    secret,
    header,
    body,
    ...part,
    genuine: false,
  });
  return [
    { what: 'as it came', secret, header, body, genuine: true },
    bad('another secret', { secret: `${secret}x` }),
    bad('the secret without its prefix', { secret: secret.slice('whsec_'.length) }),
    bad('a changed body', { body: changed.toString('base64') }),
    bad('a longer body', { body: Buffer.concat([hook.raw, Buffer.from('\n')]).toString('base64') }),
    bad('another time', { header: `t=${Number(t) + 1},v1=${v1}` }),
    bad('signed too long ago', { header: signedAt(-310) }),
    // A minute above the limit of 300 s: a program of Java compiles itself before it looks at its clock.
    bad('signed in the future', { header: signedAt(360) }),
    { what: 'signed a while ago', secret, header: signedAt(-200), body, genuine: true },
    bad('capitals', { header: `t=${t},v1=${v1.toUpperCase()}` }),
    bad('a short signature', { header: `t=${t},v1=${v1.slice(2)}` }),
    bad('no signature', { header: `t=${t}` }),
    bad('a line after it', { header: `${header}\n` }),
    bad('nothing', { header: '' }),
  ];
}
