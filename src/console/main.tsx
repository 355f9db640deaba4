import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { App } from './app.tsx';
import { ignoreHeldEnter } from './lib/held-key.ts';
import { queryClient } from './lib/queries.ts';
import { restoreTheme } from './lib/theme.ts';
import { language } from './lib/words.ts';
import { ToastProvider } from './ui/toast.tsx';
import './ui/tokens.css';
import './ui/base.css';

document.documentElement.lang = language;
restoreTheme();
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
