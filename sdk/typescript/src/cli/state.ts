/** What `listen` remembers of a key between runs: where it stopped, and where the events that it forwarded are found. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where an event is in the feed: no text of a message is kept. */
export interface ForwardedEvent {
  readonly id: string;
  /** The cursor of the slice that it came in. */
  readonly after: string;
  /** Its place in the slice. */
  readonly index: number;
}

export interface ListenState {
  readonly cursor?: string;
  readonly forwardTo?: string;
  /** The newest last. */
  readonly forwarded: readonly ForwardedEvent[];
}

const FORWARDED_MAX = 1_000;

export class StateFile {
  readonly #path: string;

  /** One file for each key and gateway; its name tells neither. */
  constructor(apiKey: string, baseUrl: string, environment: NodeJS.ProcessEnv = process.env) {
    const folder = environment.XDG_STATE_HOME || environment.LOCALAPPDATA || join(homedir(), '.local/state');
    const name = createHash('sha256').update(`${apiKey} ${baseUrl}`).digest('hex').slice(0, 16);
    this.#path = join(folder, 'messaging-gateway-client', `${name}.json`);
  }

  async read(): Promise<ListenState> {
    try {
      return { forwarded: [], ...JSON.parse(await readFile(this.#path, 'utf8')) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { forwarded: [] };
      throw new Error(`${this.#path} cannot be read: ${(error as Error).message}. Delete it to begin anew.`);
    }
  }

  /** Written beside and renamed, so that a process that is killed leaves the file whole. */
  async write(state: ListenState): Promise<void> {
    await mkdir(join(this.#path, '..'), { recursive: true, mode: 0o700 });
    const kept = { ...state, forwarded: state.forwarded.slice(-FORWARDED_MAX) };
    await writeFile(`${this.#path}.new`, JSON.stringify(kept), { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
  }
}
