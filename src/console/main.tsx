import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { App } from './app.tsx';
import { ignoreHeldEnter } from './lib/held-key.ts';
import { queryClient } from './lib/queries.ts';
import { restoreTheme } from './lib/theme.ts';
import { language } from './lib/words.ts';
import { ROUTES } from './routes.tsx';
import { ToastProvider } from './ui/toast.tsx';
import './ui/tokens.css';
import './ui/base.css';

document.documentElement.lang = language;
restoreTheme();
// Begins to load the page while the session is asked for. A failure shows when the page is rendered.
const opened = ROUTES.find(({ path }) => `/console${path}` === location.pathname);
void opened?.preload().catch(() => undefined);
ignoreHeldEnter();
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
