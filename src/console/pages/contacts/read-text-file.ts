/** The text of a file. */
export interface ReadFile {
  readonly name: string;
  readonly bytes: number;
  readonly text: string;
  /** True if the file was not UTF-8: it was read in the encoding of spreadsheets on Windows. */
  readonly isGuessed: boolean;
}

/** Reads a text file in the encoding of its byte order mark, else as UTF-8, else as Windows-1252. */
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

/** UTF-16, which spreadsheets call Unicode text, if the byte order mark says so. */
function markedEncodingOf([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return undefined;
}
