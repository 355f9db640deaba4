import { type ApiRequest, samplesOf } from '../lib/samples.ts';
import { t } from '../lib/words.ts';
import { CodeBlock } from './code.tsx';
import { Tabs } from './tabs.tsx';

/** Shows programs that make a request, in a tab for each language. `does` completes "a command that …". */
export function RequestSamples({ of: request, does }: { of: ApiRequest; does: string }) {
  return (
    <Tabs
      label={t('Code that {does}', { does })}
      tabs={samplesOf(request).map(({ language, code }) => ({
        label: language,
        content: (
          <CodeBlock
            text={code}
            label={
              language === 'curl'
                ? t('command that {does}', { does })
                : t('{language} program that {does}', { language, does })
            }
          />
        ),
      }))}
    />
  );
}
