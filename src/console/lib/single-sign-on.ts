import { request } from './request.ts';
import { StartSingleSignOn } from './single-sign-on.generated.ts';

/** Leaves the console for the sign-in page of a provider. Never resolves if the browser goes there. */
export async function goToProvider(wanted: {
  email?: string;
  next: string;
  confirm?: boolean;
}): Promise<never> {
  const { startSingleSignOn } = await request(StartSingleSignOn, wanted);
  location.assign(startSingleSignOn.url);
  return new Promise<never>(() => undefined);
}
