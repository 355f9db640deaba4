import { type Ref, useEffect, useRef } from 'react';
import { ApiError } from '../../lib/api-error.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { SignIn } from '../../lib/session.generated.ts';
import { signedIn } from '../../lib/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import './sign-in.css';

/** Explains an error to a person who signs in. */
function explain(error: ApiError): ApiError {
  if (error.code !== 'RATE_LIMITED') return error;
  const minutes = Math.max(1, Math.ceil((error.retryAfterSeconds ?? 900) / 60));
  const when = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  return new ApiError(
    error.code,
    `That was tried too often. Wait ${when}, then try again; until then even the right password is not looked at.`,
  );
}

/** The sign-in page. `next` in the address is the page after it. */
export function SignInPage() {
  useEffect(() => {
    document.title = 'Sign in · Messaging gateway';
  }, []);
  return (
    <main className="sign-in">
      <h1>Sign in</h1>
      <SignInForm />
      <p className="quiet">
        The first start of the gateway prints an email address and a password. Members of an account are
        invited by its owner or an admin.
      </p>
    </main>
  );
}

/** The sign-in over a page whose session has ended. The page keeps its input. */
export function SignInAgain({ email }: { email: string }) {
  const password = useRef<HTMLInputElement>(null);
  // The dialog focuses its first field, the email, which is filled: a password typed there would be readable.
  useEffect(() => password.current?.focus(), []);
  return (
    <Dialog title="Your session has ended" onClose={() => undefined} mustAnswer>
      <p>Sign in again to go on. What you were at stays as it is; what was not saved or sent yet is not.</p>
      <SignInForm email={email} passwordRef={password} />
    </Dialog>
  );
}

function SignInForm({ email, passwordRef }: { email?: string; passwordRef?: Ref<HTMLInputElement> }) {
  const signIn = useApiMutation(SignIn, { onDone: signedIn });
  return (
    <Form
      label="Sign in"
      error={signIn.error && explain(signIn.error)}
      onSubmit={(values) =>
        signIn.mutate({ email: textOf(values, 'email'), password: String(values.get('password')) })
      }
    >
      <Field name="email" label="Email" type="email" autoComplete="username" autoFocus defaultValue={email} />
      <Field
        ref={passwordRef}
        name="password"
        label="Password"
        type="password"
        autoComplete="current-password"
      />
      <Button type="submit" look="primary" isBusy={signIn.isPending}>
        Sign in
      </Button>
    </Form>
  );
}
