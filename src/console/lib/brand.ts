const content = (name: string) =>
  document.querySelector<HTMLMetaElement>(`meta[name="brand-${name}"]`)?.content || undefined;

/** The operator's name and logo, which the gateway puts into the page. `logo` is an address. */
export const brand = { name: content('name') ?? 'Messaging gateway', logo: content('logo') } as const;
