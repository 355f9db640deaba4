/**
 * Makes the generated files: a map from path to text. Rejects if a document does not fit the schema. The error names
 * the file and the fault.
 */
export declare function consoleTypes(): Promise<Map<string, string>>;
