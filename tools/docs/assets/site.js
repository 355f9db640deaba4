// Search, tabs, copy buttons, the theme, and the "try it" forms. The pages can be read without this script.
const LANGUAGE = 'docs-language';
const KEY = 'docs-key';
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);

// Shows the language that the reader chose last in all tabs that have it.
function choose(language) {
  for (const tabs of all('.tabs')) {
    const names = all('[role=tab]', tabs).map((tab) => tab.dataset.language);
    const shown = names.includes(language) ? language : names[0];
    for (const tab of all('[role=tab]', tabs)) {
      const isChosen = tab.dataset.language === shown;
      tab.setAttribute('aria-selected', String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    for (const panel of all('[role=tabpanel]', tabs)) panel.hidden = panel.dataset.language !== shown;
  }
}
choose(localStorage.getItem(LANGUAGE) ?? '');
for (const tab of all('[role=tab]')) {
  tab.addEventListener('click', () => {
    const before = tab.getBoundingClientRect().top;
    localStorage.setItem(LANGUAGE, tab.dataset.language);
    choose(tab.dataset.language);
    // Tabs further up may have changed their height. Scroll, so that the clicked tab stays in place.
    window.scrollBy(0, tab.getBoundingClientRect().top - before);
  });
  tab.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = all('[role=tab]', tab.parentElement);
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    next.click();
    next.focus();
  });
}

for (const button of all('.copy')) {
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector('code').textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
}

const themeButton = byId('theme-button');
const dark = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? 'dark' : 'light')) === 'dark';
const nameTheme = () => {
  themeButton.textContent = isDark() ? 'Light' : 'Dark';
};
nameTheme();
dark.addEventListener('change', nameTheme);
themeButton.addEventListener('click', () => {
  const theme = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('docs-theme', theme);
  nameTheme();
});

const menuButton = byId('menu-button');
menuButton.addEventListener('click', () => {
  const isOpen = document.body.classList.toggle('menu-open');
  menuButton.setAttribute('aria-expanded', String(isOpen));
});

// Search. Each row is [URL, page, heading, text]. The rows are fetched when the search is opened for the first time.
const dialog = byId('search');
const input = dialog.querySelector('input');
const results = dialog.querySelector('ol');
const MAX_RESULTS = 12;
let rows;
async function openSearch() {
  dialog.showModal();
  input.select();
  rows ??= fetch('/docs/search.json').then((response) => response.json());
  await rows;
  find();
}
byId('search-button').addEventListener('click', openSearch);
document.addEventListener('keydown', (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  const isAsked = (event.key === '/' && !isTyping) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
  if (!isAsked || dialog.open) return;
  event.preventDefault();
  void openSearch();
});
dialog.addEventListener('click', (event) => {
  if (event.target === dialog) dialog.close();
});

// Scores a row. Every word must be in the row, otherwise the score is 0. Headings count most, then page titles, then
// text.
function score([, title, heading, text], words) {
  let sum = 0;
  for (const word of words) {
    const inTitle = title.toLowerCase().includes(word);
    const inHeading = heading.toLowerCase().includes(word);
    const inText = text.toLowerCase().includes(word);
    if (!inTitle && !inHeading && !inText) return 0;
    sum += (inTitle ? 6 : 0) + (inHeading ? 8 : 0) + (inText ? 1 : 0);
    if (title.toLowerCase() === word || heading.toLowerCase() === word) sum += 10;
  }
  return sum;
}

async function find() {
  const words = input.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found =
    words.length === 0
      ? []
      : (await rows).map((row) => [score(row, words), row]).filter(([value]) => value > 0);
  found.sort(([a], [b]) => b - a);
  results.replaceChildren(...found.slice(0, MAX_RESULTS).map(([, row]) => resultOf(row, words)));
  if (words.length > 0 && found.length === 0) {
    const none = document.createElement('li');
    none.textContent = 'Nothing found. Try another word.';
    results.append(none);
  }
}

function resultOf([address, title, heading, text], words) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = address;
  const name = document.createElement('strong');
  name.textContent = heading === '' ? title : `${title}: ${heading}`;
  const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 40);
  const excerpt = document.createElement('span');
  excerpt.textContent = text.slice(at, at + 140);
  link.append(name, excerpt);
  link.addEventListener('click', () => dialog.close());
  item.append(link);
  return item;
}
input.addEventListener('input', find);
input.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') {
    event.preventDefault();
    results.querySelector('a')?.click();
  }
});

// "Try it" forms. The API key is kept in this browser tab only.
for (const form of all('.try form')) {
  form.elements.key.value = sessionStorage.getItem(KEY) ?? '';
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const output = form.parentElement.querySelector('output');
    const { method, route } = form.dataset;
    sessionStorage.setItem(KEY, form.elements.key.value);
    const query = new URLSearchParams();
    let path = route;
    for (const field of all('[data-place]', form)) {
      if (field.dataset.place === 'path')
        path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
      else if (field.value !== '') query.set(field.name, field.value);
    }
    const body = form.elements.body?.value;
    const headers = {
      'X-Api-Key': form.elements.key.value,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
    const startedAt = performance.now();
    try {
      const response = await fetch(`/api/v1${path}${query.size > 0 ? `?${query}` : ''}`, {
        method,
        headers,
        body,
      });
      const text = await response.text();
      output.textContent = `${response.status} in ${Math.round(performance.now() - startedAt)} ms\n\n${JSON.stringify(JSON.parse(text), null, 2)}`;
    } catch (error) {
      output.textContent = `No answer: ${error.message}`;
    }
    for (const other of all('.try form')) other.elements.key.value = form.elements.key.value;
  });
}
