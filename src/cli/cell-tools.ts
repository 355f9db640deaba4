/** The functions that the commands of cells call. */
export interface CellTools {
  /** Writes the files of HAProxy. Returns their paths. */
  writeProxyFiles(options: {
    readonly directory: string;
    readonly to: string;
    readonly bind: string;
  }): Promise<readonly string[]>;
  /** Lists in the directory those keys of this cell that do not begin with a slot of it. Returns their number. */
  listKeys(options: { readonly directory: string; readonly cell: string }): Promise<number>;
}
