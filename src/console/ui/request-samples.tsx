import { type ApiRequest, samplesOf } from '../lib/samples.ts';
import { CodeBlock } from './code.tsx';
import { Tabs } from './tabs.tsx';

/** Shows programs that make a request, in a tab for each language. `does` completes "a command that …". */
export function RequestSamples({ of: request, does }: { of: ApiRequest; does: string }) {
  return (
    <Tabs
      label={`Code that ${does}`}
      tabs={samplesOf(request).map(({ language, code }) => ({
        label: language,
        content: (
          <CodeBlock
            text={code}
            label={`${language === 'curl' ? 'command' : `${language} program`} that ${does}`}
          />
        ),
      }))}
    />
  );
}
