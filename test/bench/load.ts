import { Pool } from 'undici';

export interface LoadResult {
  readonly accepted: number;
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
}

/** Posts one-recipient SMS over `connections` for `seconds`; throws on any answer that is not 200. */
export async function sendSmsLoad(
  url: string,
  key: string,
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  const pool = new Pool(url, { connections });
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const deadline = startedAt + seconds * 1000;
  let sent = 0;
  const body = (index: number) =>
    JSON.stringify({
      to: `+2567${String(index % 1e8).padStart(8, '0')}`,
      message: 'Hello, this is a benchmark message.',
    });
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < deadline) {
        sent += 1;
        const at = performance.now();
        const answer = await pool.request({
          method: 'POST',
          path: '/api/v1/developers/sms',
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
          // Numbers that the simulator treats specially are left out: 0001 to 0004.
          body: body(sent * 10 + 7),
        });
        const text = await answer.body.text();
        if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`);
        latenciesMs.push(performance.now() - at);
      }
    }),
  );
  const elapsed = (performance.now() - startedAt) / 1000;
  await pool.close();
  return { accepted: latenciesMs.length, seconds: elapsed, latenciesMs };
}
