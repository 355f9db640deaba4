/** A node of a syntax tree. */
export type SyntaxNode = Readonly<Record<string, unknown>> & { readonly type: string };

/** A text in the source, and the names of the values and elements that it gets. Undefined if they are made elsewhere. */
export interface SourceText {
  readonly text: string;
  readonly given: readonly string[] | undefined;
}

/** The source files of the console, by their path in src/console. */
export declare function sources(): readonly string[];

/** Parses a source file of the console. */
export declare function parsed(name: string): SyntaxNode;

/** Calls `visit` for each node of a syntax tree and its parents, the nearest first. */
export declare function walk(
  node: unknown,
  visit: (node: SyntaxNode, parents: readonly SyntaxNode[]) => void,
): void;

/** Every text in a source file. Throws if `t` or `T` gets a text that is not written out. */
export declare function textsOf(name: string): readonly SourceText[];

/** The English texts of the first load, and those of the modules that are loaded later, each sorted. */
export declare function englishTexts(): {
  readonly first: readonly string[];
  readonly pages: readonly string[];
};

/** The translations of a catalogue, such as `fr` or `fr-pages`, by the English text. */
export declare function catalogueOf(name: string): Readonly<Record<string, string>>;
