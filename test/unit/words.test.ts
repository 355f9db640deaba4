import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

/** Wording that readers of the console did not understand. The better wording follows each. */
const REPLACED: readonly (readonly [worse: RegExp, better: string])[] = [
  [/made for one use/i, 'You are using a temporary password. Set your own.'],
  [/on a safe way/i, 'Share these through a secure channel.'],
  [/sign-in of somebody/i, 'This email is already in use.'],
  [/were given back|that nobody accepted/i, 'UGX 30 refunded: 1 recipient was rejected.'],
  [/is no number/i, '1 invalid number will be skipped. / This number is not valid yet.'],
  [/handed over to (its|the|a) carrier|(carrier|provider)\} refused it/i, 'Submitted / Rejected'],
  [/'Refused\b|Not taken/, 'Rejected / Unavailable'],
  [/platform's limits hold|limits of the platform hold/i, 'No plan (default limits)'],
  [
    /[>'"]\s*(Take another|It is on|Change it|Rotate it)\s*[<'"]/,
    'Choose another file / Plan / Edit / Rotate key',
  ],
  [/is told of/i, 'receives'],
];

it.each(['src/console', 'src/domain'])('%s uses the better words', (folder) => {
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.generated.ts'))
    .flatMap((name) => {
      const text = readFileSync(`${folder}/${name}`, 'utf8');
      return REPLACED.flatMap(([worse, better]) => {
        const words = worse.exec(text)?.[0];
        return words === undefined ? [] : [`${folder}/${name}: ${words} (better: ${better})`];
      });
    });
  expect(found).toEqual([]);
});
