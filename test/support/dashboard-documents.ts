import { readFile } from 'node:fs/promises';

export interface GuideDocument {
  readonly name: string;
  readonly text: string;
  /** The points that the document may take at most. The guide names them. */
  readonly points: number;
  /** The largest number of SQL statements that the document may need. The guide names it. */
  readonly statements: number;
}

/** Returns the dashboard documents of docs/guides/graphql.md in their order. */
export async function guideDocuments(): Promise<readonly GuideDocument[]> {
  const guide = await readFile(new URL('../../docs/guides/graphql.md', import.meta.url), 'utf8');
  return [...guide.matchAll(/```graphql\n(query (\w+)[\s\S]*?)```/g)].map(([, text = '', name = '']) => {
    const row = new RegExp(`^\\| ${name} \\| ([\\d,]+) \\| (\\d+) \\|`, 'm').exec(guide);
    if (!row) throw new Error(`the guide names no points and statements of ${name}`);
    const [, points = '', statements] = row;
    return { name, text, points: Number(points.replaceAll(',', '')), statements: Number(statements) };
  });
}

/** Returns values for the variables of the documents: a message and a period of time. */
export function guideVariables(messageId: string, from: Date, to: Date): Readonly<Record<string, unknown>> {
  return { id: messageId, from: from.toISOString(), to: to.toISOString(), timeZone: 'Asia/Kolkata' };
}
