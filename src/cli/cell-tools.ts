/** The functions that the commands of cells call. */
export interface CellTools {
  /** Writes the files of HAProxy. Returns their paths. */
  writeProxyFiles(options: {
    readonly directory: string;
    readonly to: string;
    readonly bind: string;
  }): Promise<readonly string[]>;
  /** Moves an account from this cell to another one, and tells the progress. */
  moveAccount(options: {
    readonly accountId: string;
    readonly toDatabase: string;
    readonly toCell: string | undefined;
    readonly directory: string | undefined;
    readonly proxy: string | undefined;
    readonly drainSeconds: number;
    readonly onStep: (step: string) => void;
  }): Promise<MovedAccount>;
  /** Lists in the directory those keys of this cell that do not begin with a slot of it. Returns their number. */
  listKeys(options: { readonly directory: string; readonly cell: string }): Promise<number>;
}

export interface MovedAccount {
  readonly accountId: string;
  /** Number of rows in the other cell, by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Number of jobs that were moved. */
  readonly jobs: number;
  readonly pauseMs: number;
}
