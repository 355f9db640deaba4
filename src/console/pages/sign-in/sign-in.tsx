import { type Ref, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { ApiError } from '../../lib/api-error.ts';
import { askPasskey, type PasskeyJson } from '../../lib/passkeys.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { request } from '../../lib/request.ts';
import {
  AnswerChallenge,
  AnswerWithPasskey,
  SignIn,
  SignInWithPasskey,
  StartPasskeySignIn,
} from '../../lib/session.generated.ts';
import { signedIn } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CodeField, Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PasskeyButton } from '../../ui/passkey-button.tsx';
import { PublicPage } from './public-page.tsx';
import { ProviderButtons } from './single-sign-on.tsx';

/** Returns an error text that fits a person who signs in. */
function explain(error: ApiError): ApiError {
  if (error.code !== 'RATE_LIMITED') return error;
  const minutes = Math.max(1, Math.ceil((error.retryAfterSeconds ?? 900) / 60));
  return new ApiError(
    error.code,
    t(
      'That was tried too often. Wait {minutes, plural, one {a minute} other {# minutes}}, then try again; until then even what is right is not looked at.',
      { minutes },
    ),
  );
}

/** The sign-in page. The query parameter `next` is the path to open afterwards. */
export function SignInPage() {
  return (
    <PublicPage title={t('Sign in')}>
      <SignInForm />
      <p>
        <Link href="/forgot-password">{t('Lost your password?')}</Link>
      </p>
      <p className="quiet">
        {t(
          'The first start of the gateway prints an email address and a password. Members of an account are invited by its owner or an admin.',
        )}
      </p>
    </PublicPage>
  );
}

/** The sign-in dialog over a page whose session has expired. The page keeps its input. */
export function SignInAgain({ email }: { email: string }) {
  const password = useRef<HTMLInputElement>(null);
  // The email field is filled, and `Dialog` focuses it as the first field. A password typed there would be readable.
  useEffect(() => password.current?.focus(), []);
  return (
    <Dialog title={t('Your session has ended')} onClose={() => undefined} mustAnswer>
      <p>
        {t('Sign in again to go on. What you were at stays as it is; what was not saved or sent yet is not.')}
      </p>
      <SignInForm email={email} passwordRef={password} />
    </Dialog>
  );
}

function SignInForm({ email, passwordRef }: { email?: string; passwordRef?: Ref<HTMLInputElement> }) {
  const signIn = useApiMutation(SignIn, { onDone: signedIn });
  const [typed, setTyped] = useState(email ?? '');
  const { challenge, passkey } = signIn.error ?? {};
  if (challenge !== undefined)
    return <CodeForm challenge={challenge} passkey={passkey} onBack={() => signIn.reset()} />;
  const signInAlone = async () => {
    const { startPasskeySignIn } = await request(StartPasskeySignIn, {});
    await request(SignInWithPasskey, { passkey: await askPasskey(startPasskeySignIn) });
    await signedIn();
  };
  return (
    <>
      <Form
        label={t('Sign in')}
        error={signIn.error && explain(signIn.error)}
        onSubmit={(values) =>
          signIn.mutate({ email: textOf(values, 'email'), password: String(values.get('password')) })
        }
      >
        <Field
          name="email"
          label={t('Email')}
          type="email"
          autoComplete="username"
          autoFocus
          defaultValue={email}
          onBlur={({ target }) => setTyped(target.value.trim())}
        />
        <Field
          ref={passwordRef}
          name="password"
          label={t('Password')}
          type="password"
          autoComplete="current-password"
        />
        <Button type="submit" look="primary" isBusy={signIn.isPending}>
          {t('Sign in')}
        </Button>
      </Form>
      <PasskeyButton steps={signInAlone} />
      <ProviderButtons email={typed} />
    </>
  );
}

/** The second step of a sign-in: asks for a code or a passkey. */
function CodeForm({
  challenge,
  passkey,
  onBack,
}: {
  challenge: string;
  /** WebAuthn options for a passkey. Undefined if the person has no passkey. */
  passkey: PasskeyJson | undefined;
  onBack: () => void;
}) {
  const answer = useApiMutation(AnswerChallenge, { onDone: signedIn });
  const answerWithPasskey = async (options: PasskeyJson) => {
    await request(AnswerWithPasskey, { challenge, passkey: await askPasskey(options) });
    await signedIn();
  };
  return (
    <>
      {passkey && <PasskeyButton steps={() => answerWithPasskey(passkey)} />}
      <Form
        label={t('Second factor')}
        error={answer.error && explain(answer.error)}
        onSubmit={(values) => answer.mutate({ challenge, code: textOf(values, 'code') })}
      >
        <CodeField />
        <div className="row">
          <Button type="submit" look="primary" isBusy={answer.isPending}>
            {t('Sign in')}
          </Button>
          <Button onClick={onBack}>{t('Back')}</Button>
        </div>
      </Form>
    </>
  );
}
