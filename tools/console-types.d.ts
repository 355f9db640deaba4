/** The generated files, path to text. Rejects, naming file and fault, when a document does not fit the schema. */
export declare function consoleTypes(): Promise<Map<string, string>>;
