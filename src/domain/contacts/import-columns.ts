import { validationError } from '../errors.ts';
import type { CsvRow } from '../ports/csv-reader.ts';
import { truncate } from '../text.ts';
import type { ContactInput } from './contact-fields.ts';
import { IMPORT_MAX_COLUMNS } from './contact-import.ts';

const MEMBERS = ['name', 'phone', 'email', 'externalId', 'tags'] as const;
type Member = (typeof MEMBERS)[number];

/** A column of the CSV. It holds a member of the contact or one of its attributes. */
export interface Column {
  /** The header as written in the file. */
  readonly header: string;
  readonly member: Member | 'attributes';
  readonly attribute: string;
}

/** Normalizes a header: `External ID`, `external_id` and `externalId` are the same column. */
const wordOf = (header: string) => header.toLowerCase().replace(/[\s_-]/g, '');
const MEMBER_OF: ReadonlyMap<string, Member> = new Map(MEMBERS.map((member) => [wordOf(member), member]));
const ATTRIBUTE = /^attributes\.(?=.)/i;

/**
 * Reads the header row. A column that is not a member of a contact is an attribute, with or without the prefix
 * `attributes.`. Throws `validation_error` if no column identifies contacts, or if two columns are the same.
 */
export function readColumns({ line, cells }: CsvRow): readonly Column[] {
  const refuse = (message: string) => validationError([{ path: 'csv', message: `line ${line}: ${message}` }]);
  if (cells.length > IMPORT_MAX_COLUMNS) {
    throw refuse(`the header has ${cells.length} columns; ${IMPORT_MAX_COLUMNS} is the most`);
  }
  const columns = cells.map((header, index): Column => {
    if (header === '') throw refuse(`column ${index + 1} has no header`);
    const member = MEMBER_OF.get(wordOf(header));
    if (member) return { header, member, attribute: '' };
    return { header, member: 'attributes', attribute: header.replace(ATTRIBUTE, '') };
  });
  const seen = new Set<string>();
  for (const { header, member, attribute } of columns) {
    const key = `${member} ${attribute}`;
    if (seen.has(key)) throw refuse(`the column ${truncate(header)} is there twice`);
    seen.add(key);
  }
  if (!columns.some(({ member }) => member === 'phone' || member === 'email' || member === 'externalId')) {
    throw refuse('the first row must name the columns; phone, email or externalId must be one of them');
  }
  return columns;
}

/** Returns the contact members in a row. Empty cells are left out. Tags are separated by `;` or `|`. */
export function readCells(columns: readonly Column[], cells: readonly string[]): ContactInput {
  const given = new Map<Member, string>();
  const attributes = new Map<string, string>();
  columns.forEach(({ member, attribute }, index) => {
    const cell = cells[index] ?? '';
    if (cell === '') return;
    if (member === 'attributes') attributes.set(attribute, cell);
    else given.set(member, cell);
  });
  const { tags, ...texts } = Object.fromEntries(given) as Partial<Record<Member, string>>;
  return {
    ...texts,
    ...(tags === undefined ? {} : { tags: tagsOf(tags) }),
    ...(attributes.size === 0 ? {} : { attributes: Object.fromEntries(attributes) }),
  };
}

function tagsOf(cell: string): string[] {
  return cell
    .split(/[;|]/)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
}
