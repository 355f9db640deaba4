// Runs before the first paint. Otherwise the default theme would be visible for a moment.
const chosenTheme = localStorage.getItem('docs-theme');
if (chosenTheme) document.documentElement.dataset.theme = chosenTheme;
