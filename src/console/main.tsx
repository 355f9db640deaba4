import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { App } from './app.tsx';
import { ignoreHeldEnter } from './lib/held-key.ts';
import { queryClient } from './lib/queries.ts';
import { rememberedFrame } from './lib/session-frame.ts';
import { restoreTheme } from './lib/theme.ts';
import { language } from './lib/words.ts';
import { ROUTES } from './routes.tsx';
import { ToastProvider } from './ui/toast.tsx';
import './ui/tokens.css';
import './ui/base.css';

document.documentElement.lang = language;
restoreTheme();
ignoreHeldEnter();
// Loads the code of the page before anything is asked, so that session and page are asked in one call. Without a
// remembered frame, the session is asked first. A failure to load shows when the page is rendered.
const opened = ROUTES.find(({ path }) =>
  new RegExp(`^/console${path.replaceAll(/:\w+/g, '[^/]+')}$`).test(location.pathname),
);
const loaded = opened?.preload().catch(() => undefined);
if (rememberedFrame()) await loaded;
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Router base="/console">
        <ToastProvider>
          <App />
        </ToastProvider>
      </Router>
    </QueryClientProvider>
  </StrictMode>,
);
