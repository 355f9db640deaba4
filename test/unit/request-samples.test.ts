import { describe, expect, it } from '@jest/globals';
import { type ApiRequest, samplesOf } from '../../src/console/lib/samples.ts';

const URL = 'http://127.0.0.1:3000/api/v1/developers/sms';
const codes = (request: ApiRequest) =>
  Object.fromEntries(samplesOf(request).map(({ language, code }) => [language, code]));

describe('code samples of a request', () => {
  it('are in curl, TypeScript, Python and PHP, and read the key from KEY if it is unknown', () => {
    expect(codes({ method: 'GET', url: URL, key: '' })).toEqual({
      curl: `curl -s ${URL} \\\n  -H "X-Api-Key: $KEY"`,
      TypeScript: `const response = await fetch("${URL}", {
  method: 'GET',
  headers: { 'X-Api-Key': process.env.KEY ?? '' },
});
console.log(await response.text());`,
      Python: `import os
import urllib.request

request = urllib.request.Request(
    "${URL}",
    method="GET",
    headers={"X-Api-Key": os.environ["KEY"]},
)
with urllib.request.urlopen(request) as response:
    print(response.read().decode())`,
      PHP: `<?php
$curl = curl_init('${URL}');
curl_setopt_array($curl, [
    CURLOPT_CUSTOMREQUEST => 'GET',
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => ['X-Api-Key: ' . getenv('KEY')],
]);
$answer = curl_exec($curl);
if ($answer === false) {
    throw new RuntimeException(curl_error($curl));
}
echo $answer, "\\n";`,
    });
  });

  it('write values as each language does, and quote what would be code in it', () => {
    const body = { to: ['a'], text: `'$x' \\ "\n`, 'a-b': null, isOn: true, count: 2, left: undefined };
    const all = codes({ method: 'POST', url: URL, key: 'msg_1', body });
    expect(all.curl).toContain(
      `-d '{"to":["a"],"text":"'\\''$x'\\'' \\\\ \\"\\n","a-b":null,"isOn":true,"count":2}'`,
    );
    expect(all.TypeScript).toContain(
      `JSON.stringify({ to: ["a"], text: "'$x' \\\\ \\"\\n", "a-b": null, isOn: true, count: 2 })`,
    );
    expect(all.Python).toContain(
      `json.dumps({"to": ["a"], "text": "'$x' \\\\ \\"\\n", "a-b": None, "isOn": True, "count": 2})`,
    );
    expect(all.PHP).toContain(
      `json_encode(['to' => ['a'], 'text' => '\\'$x\\' \\\\ "\n', 'a-b' => null, 'isOn' => true, 'count' => 2])`,
    );
    for (const code of Object.values(all)) expect(code).toContain('msg_1');
  });
});
