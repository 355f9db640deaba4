/** A file that was read as text. */
export interface ReadFile {
  readonly name: string;
  readonly bytes: number;
  readonly text: string;
  /** It was no UTF-8: the encoding is a guess, that of spreadsheets on Windows. */
  readonly isGuessed: boolean;
}

/** Reads a text file as UTF-8, or where it is none as Windows-1252. */
export async function readTextFile(file: File): Promise<ReadFile> {
  const bytes = await file.arrayBuffer();
  const read = { name: file.name, bytes: file.size };
  try {
    return { ...read, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), isGuessed: false };
  } catch {
    return { ...read, text: new TextDecoder('windows-1252').decode(bytes), isGuessed: true };
  }
}
