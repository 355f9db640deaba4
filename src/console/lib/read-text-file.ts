/** A text file and its content. */
export interface ReadFile {
  readonly name: string;
  readonly bytes: number;
  readonly text: string;
  /**
   * True if the file was not valid UTF-8, so that it was read as Windows-1252, the encoding of spreadsheets on Windows.
   */
  readonly isGuessed: boolean;
}

/**
 * Reads a text file. A byte order mark decides the encoding. Without one, the file is UTF-8, or Windows-1252 if it is
 * not valid UTF-8.
 */
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

/**
 * Returns the UTF-16 encoding that the byte order mark names, or undefined. Spreadsheets call UTF-16 "Unicode text".
 */
function markedEncodingOf([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return undefined;
}
