import { formatName } from '../../lib/format.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Field } from '../../ui/field.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { Time } from '../../ui/values.tsx';
import { keyCommand, PASSWORD_PLACEHOLDER } from './commands.ts';
import { FirstRun, FirstRunKey } from './first-run.generated.ts';
import { NEW_KEY, type Progress } from './progress.ts';
import { Step } from './step.tsx';

/**
 * Creates a key with the scopes that the next steps need, shows it once, and puts it into the commands of these steps.
 */
export function KeyStep({
  progress: { key },
  known,
  onKnown,
}: {
  progress: Progress;
  /** The secret key, if it was created or typed on this page, else ''. */
  known: string;
  onKnown: (key: string) => void;
}) {
  const { email } = useViewer();
  const create = useApiMutation(FirstRunKey, {
    refetches: [FirstRun],
    onDone: ({ createApiKey }) => onKnown(createApiKey.key),
  });
  const made = create.data?.createApiKey.key;
  return (
    <Step
      number={1}
      title={t('Make an API key')}
      isDone={key !== undefined}
      isDoneHere={made !== undefined}
      commands={
        <>
          <CodeBlock
            text={keyCommand(location.origin, email, NEW_KEY)}
            label={t('command that makes a key')}
          />
          <p className="quiet">
            <T
              text="Put your password in the place of {placeholder}."
              placeholder={<code>{PASSWORD_PLACEHOLDER}</code>}
            />
          </p>
        </>
      }
    >
      <p>
        <T
          text="A program signs in with a key of its own. This one may do what the steps below need and no more: {scopes}."
          scopes={NEW_KEY.scopes.map((scope) => formatName(scope)).join(', ')}
        />
      </p>
      {create.error && <Notice tone="bad">{create.error.message}</Notice>}
      {made && (
        <>
          <Notice tone="warn">{t('Copy it now: it is shown this once and can never be seen again.')}</Notice>
          <CodeBlock text={made} label={t('API key')} />
        </>
      )}
      {key && !made && (
        <p>
          <T text="“{name}” was made {time}." name={key.name} time={<Time at={key.createdAt} />} />
        </p>
      )}
      {!made && (
        <div className="row">
          <Button
            look={key ? 'plain' : 'primary'}
            isBusy={create.isPending}
            onClick={() => create.mutate({ input: NEW_KEY })}
          >
            {key ? t('Make another key') : t('Make a key')}
          </Button>
        </div>
      )}
      {key && !made && (
        <Field
          name="key"
          label={t('The key, for the commands below')}
          hint={t(
            'It is shown only when it is made. Pasted here it stays in this page; otherwise $KEY stands for it.',
          )}
          autoComplete="off"
          spellCheck={false}
          value={known}
          onChange={({ target }) => onKnown(target.value.trim())}
        />
      )}
    </Step>
  );
}
