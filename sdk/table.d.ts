interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
}

/** Returns the operations from which the SDKs are generated. */
export declare function readTable(): {
  readonly resources: readonly { readonly name: string; readonly operations: readonly Operation[] }[];
};
