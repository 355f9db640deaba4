export const UNBUNDLED: RegExp;
