import { cloneElement, createElement, Fragment, isValidElement, type ReactNode } from 'react';
import { formatNumber } from '../lib/format.ts';
import { type Part, partsOf } from '../lib/message-format.ts';
import { formOf, translated } from '../lib/words.ts';

type Parts = Readonly<Record<string, ReactNode>>;

/**
 * A text in the language of the page, with elements in it. `text` is the English one (see `t`). The other attributes are
 * its values, and the elements of its tags:
 * `<T text="See <link>the overview</link>." link={<Link href="/" />} />`.
 */
export function T({ text, ...parts }: { readonly text: string; readonly [part: string]: ReactNode }) {
  return createElement(Fragment, null, ...nodesOf(partsOf(translated(text)), parts));
}

function nodesOf(list: readonly Part[], parts: Parts): ReactNode[] {
  return list.map((part) => {
    if (typeof part === 'string') return part;
    if ('plural' in part)
      return createElement(Fragment, null, ...nodesOf(formOf(part, parts[part.plural]), parts));
    if ('tag' in part) {
      const element = parts[part.tag];
      const inside = nodesOf(part.inside, parts);
      return isValidElement(element) ? cloneElement(element, {}, ...inside) : inside;
    }
    const value = parts[part.value];
    return typeof value === 'number' ? formatNumber(value) : value;
  });
}
