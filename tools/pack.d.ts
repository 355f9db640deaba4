interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
export function builtManifest(source: Manifest): Manifest;
export function copyDocuments(stage: string): void;
