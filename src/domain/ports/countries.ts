/** Tells the countries of clients (R487). */
export interface Countries {
  /** True if a database or the header of a proxy is configured. Otherwise no country is ever known. */
  readonly isConfigured: boolean;
  /** Returns the country of a client, which is a key of `clientOf`, from the database. Undefined if it is not known. */
  find(client: string): Promise<string | undefined>;
}
