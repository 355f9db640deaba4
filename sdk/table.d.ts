interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
}

/** The table of operations that the SDKs are generated from. */
export declare function readTable(): {
  readonly resources: readonly { readonly name: string; readonly operations: readonly Operation[] }[];
};
