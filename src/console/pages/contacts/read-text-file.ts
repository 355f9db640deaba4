/** A file that was read as text. */
export interface ReadFile {
  readonly name: string;
  readonly bytes: number;
  readonly text: string;
  /** It was no UTF-8: the encoding is a guess, that of spreadsheets on Windows. */
  readonly isGuessed: boolean;
}

/** Reads a text file by its byte order mark, else as UTF-8, or where it is none as Windows-1252. */
export async function readTextFile(file: File): Promise<ReadFile> {
  const bytes = await file.arrayBuffer();
  const read = { name: file.name, bytes: file.size };
  const marked = markedEncodingOf(new Uint8Array(bytes));
  if (marked) return { ...read, text: new TextDecoder(marked).decode(bytes), isGuessed: false };
  try {
    return { ...read, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), isGuessed: false };
  } catch {
    return { ...read, text: new TextDecoder('windows-1252').decode(bytes), isGuessed: true };
  }
}

/** The encoding of UTF-16, which spreadsheets call Unicode text, by the mark at its beginning. */
function markedEncodingOf([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return undefined;
}
