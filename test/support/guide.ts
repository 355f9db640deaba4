/** Reads the guides in docs/guides and their code samples. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const GUIDES = join(import.meta.dirname, '../../docs/guides');

export const guideNames = readdirSync(GUIDES)
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.slice(0, -'.md'.length));
export const guide = (name: string) => readFileSync(join(GUIDES, `${name}.md`), 'utf8');

export interface Sample {
  readonly language: string;
  readonly code: string;
  /** True if the block is the output of a sample. */
  readonly isOutput: boolean;
  /** The paragraph that precedes the block. */
  readonly before: string;
  /** The third-level heading above the block. Empty if there is none. */
  readonly subheading: string;
}

/**
 * Returns the samples of a page in groups. A group holds samples that follow each other directly: the same sample in
 * several languages.
 */
export function samplesOf(page: string): Sample[][] {
  const groups: Sample[][] = [];
  let end = -1;
  for (const match of page.matchAll(/^```(\w+)((?: \w+)*)\n([\s\S]*?)^```$/gm)) {
    const [whole, language = '', marks = '', code = ''] = match;
    const text = page.slice(0, match.index);
    const sample = {
      language,
      code,
      isOutput: marks.includes(' output'),
      before: /([^\n]+)\n\n$/.exec(text)?.[1] ?? '',
      subheading: /(?:^|\n)### ([^\n]+)\n(?![\s\S]*\n#{1,3} )/.exec(text)?.[1] ?? '',
    };
    if (end >= 0 && page.slice(end, match.index).trim() === '') groups.at(-1)?.push(sample);
    else groups.push([sample]);
    end = match.index + whole.length;
  }
  return groups;
}
